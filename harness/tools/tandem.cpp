//===- tandem.cpp - The executable ----------------------------------------===//
#include "harness/tools/Command.h"

#include <iostream>

int main(int argc, char **argv) {
  return tandem::harness::runCommand({argv + 1, argv + argc}, std::cout,
                                     std::cerr);
}
