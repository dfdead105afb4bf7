//===- tandem.cpp - The executable ----------------------------------------===//
#include "tandem/tandem.h"

int main(int argc, char **argv) { return tandem_main(argc, argv); }
