//===- tandem.cpp - The executable: everything is in libtandem.so ---------===//
#include "tandem/tandem.h"

int main(int argc, char **argv) { return tandem_main(argc, argv); }
