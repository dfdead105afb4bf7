//===- main.cpp - Runs the device tests on one device ---------------------===//
//
// tandem-conformance --device NAME [--inputs FOLDER] [doctest options]
//
// Exit status 77 and a line `SKIPPED: reason` when the device is not here.
//
//===----------------------------------------------------------------------===//
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/conformance/Fixture.h"

#include "codegen/device/OpenDevice.h"

#include <cstdio>
#include <cstring>

using namespace tandem;

int main(int argc, char **argv) {
  conformance::programPath = argv[0];
  conformance::inputFolder = TANDEM_TEST_INPUTS;
  std::vector<char *> rest;
  for (int i = 0; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--device") && i + 1 < argc)
      conformance::deviceName = argv[++i];
    else if (!std::strcmp(argv[i], "--inputs") && i + 1 < argc)
      conformance::inputFolder = argv[++i];
    else
      rest.push_back(argv[i]);
  }
  {
    auto device = openDevice(conformance::deviceName);
    if (!device) {
      std::printf("SKIPPED: %s\n", device.error().text().c_str());
      return 77;
    }
    DeviceInfo info = (*device)->info();
    std::printf("device %s: %s, %s\n", conformance::deviceName.c_str(),
                info.name.c_str(), info.driver.c_str());
    for (const auto &[fact, value] : info.facts)
      std::printf("  %s: %s\n", fact.c_str(), value.c_str());
  }
  doctest::Context context(static_cast<int>(rest.size()), rest.data());
  return context.run();
}
