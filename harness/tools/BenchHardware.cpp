//===- BenchHardware.cpp - tandem bench hardware --------------------------===//
//
// Asks a device for the results of single instructions, and holds it to what a
// GPU has answered (harness/hardware/).
//
//===----------------------------------------------------------------------===//
#include "harness/tools/BenchHardware.h"

#include "codegen/device/OpenDevice.h"
#include "harness/hardware/Agreement.h"
#include "harness/io/Files.h"
#include "refops/core/JsonText.h"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

using namespace tandem;
using namespace tandem::hardware;
using namespace tandem::tools;

namespace {
struct Options {
  std::string folder = "tests/inputs/hardware/sm_90a";
  std::string record, device, filter;
  bool againstEmulator = false, full = false;
  int64_t share = 256;
  int leastStrata = 8;
  uint64_t seed = 1;
};

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int cores() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

bool isChosen(const Probe &probe, const Options &options) {
  return probe.name.find(options.filter) != std::string::npos;
}

AgreementOptions agreementOptions(const Options &options) {
  AgreementOptions agreement;
  agreement.share = options.full ? 1 : static_cast<uint32_t>(options.share);
  agreement.leastStrata = static_cast<uint32_t>(options.leastStrata);
  agreement.seed = options.seed;
  return agreement;
}

/// Why differences of a probe are accepted, by its name.
Result<std::map<std::string, std::string>>
acceptedIn(const std::string &folder) {
  const std::string path = folder + "/accepted.json";
  std::map<std::string, std::string> accepted;
  if (!std::filesystem::exists(path))
    return accepted;
  const Result<std::string> text = harness::readFile(path);
  if (!text)
    return text.error();
  const Result<nlohmann::json> document = parseJson(*text, path);
  if (!document)
    return document.error();
  if (!document->is_object())
    return Error(path + ": expected an object of reasons by probe");
  for (const auto &[name, reason] : document->items()) {
    if (!reason.is_string())
      return Error(path + ": " + name + ": expected a reason in words");
    accepted[name] = reason.get<std::string>();
  }
  return accepted;
}

Result<int> record(const Options &options, Device &device) {
  Recording recording;
  const DeviceInfo info = device.info();
  recording.device = info.name;
  recording.driver = info.driver;
  Sweeper sweeper(device, cores());
  const Clock::time_point begin = Clock::now();
  for (const Probe &probe : allProbes()) {
    if (!isChosen(probe, options))
      continue;
    const Clock::time_point before = Clock::now();
    Result<ProbeRecord> result = recordProbe(probe, sweeper);
    if (result) {
      recording.probes.push_back(result.take());
    } else {
      recording.missing[probe.name] = result.error().text();
      complain("%s\n", result.error().text().c_str());
    }
    if (const double took = secondsSince(before); took > 1)
      complain("%s: %.1f s\n", probe.name.c_str(), took);
  }
  std::error_code code;
  std::filesystem::create_directories(options.record, code);
  if (Result<void> ok = writeRecording(recording, options.record); !ok)
    return ok.error();
  print("%s: %zu instructions recorded, %zu refused, %.1f s\n",
        info.name.c_str(), recording.probes.size(), recording.missing.size(),
        secondsSince(begin));
  return recording.probes.empty() ? exitFound : 0;
}

Result<int> compare(const Options &options, Device &device) {
  const std::unique_ptr<Device> emulator = makeEmulator();
  Sweeper first(device, cores()), second(*emulator, cores());
  size_t same = 0, different = 0, refused = 0;
  for (const Probe &probe : allProbes()) {
    if (!isChosen(probe, options))
      continue;
    const Result<Disagreements> found =
        compareDevices(probe, first, second, agreementOptions(options));
    if (!found) {
      ++refused;
      print("refused  %s\n", found.error().text().c_str());
      continue;
    }
    ++(found->empty() ? same : different);
    if (!found->empty())
      print("differs  %s\n", probe.name.c_str());
    for (const std::string &text : *found)
      print("         %s\n", text.c_str());
  }
  print("%zu equal, %zu different or approximate, %zu refused\n", same,
        different, refused);
  return 0;
}

Result<int> check(const Options &options, Device &device) {
  const Result<Recording> recording = readRecording(options.folder);
  if (!recording)
    return recording.error();
  const auto accepted = acceptedIn(options.folder);
  if (!accepted)
    return accepted.error();
  Sweeper sweeper(device, cores());
  const bool isEmulator = device.kind() == "emulator";
  const Clock::time_point begin = Clock::now();
  size_t agreed = 0, listed = 0, failed = 0;
  for (const Probe &probe : allProbes()) {
    const ProbeRecord *known = recording->find(probe.name);
    if (!known || !isChosen(probe, options))
      continue;
    const Result<Disagreements> found = checkProbe(
        probe, *known, sweeper, isEmulator, agreementOptions(options));
    const Disagreements why =
        found ? *found : Disagreements{found.error().text()};
    const auto reason = accepted->find(probe.name);
    if (isEmulator && reason != accepted->end()) {
      ++listed;
      if (why.empty()) {
        ++failed;
        print("%s agrees, and is listed: %s\n", probe.name.c_str(),
              reason->second.c_str());
      }
      continue;
    }
    ++(why.empty() ? agreed : failed);
    for (const std::string &text : why)
      print("%s: %s\n", probe.name.c_str(), text.c_str());
  }
  print("%s against %s: %zu instructions agree, %zu are listed as different, "
        "%zu fail; %.1f s\n",
        std::string(device.kind()).c_str(), recording->device.c_str(), agreed,
        listed, failed, secondsSince(begin));
  return failed ? exitFound : 0;
}

Result<int> run(Options options) {
  if (options.device.empty())
    options.device = options.record.empty() && !options.againstEmulator
                         ? "emulator"
                         : "cuda";
  const Result<std::unique_ptr<Device>> device = openDevice(options.device);
  if (!device)
    return device.error();
  if (!options.record.empty())
    return record(options, **device);
  if (options.againstEmulator)
    return compare(options, **device);
  return check(options, **device);
}
} // namespace

Command tandem::tools::benchHardwareCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "hardware", "Single instructions against what a GPU has answered",
      "tandem bench hardware tests/inputs/hardware/sm_90a --full");
  app->add_option("recording", options->folder, "Folder of a recording")
      ->capture_default_str();
  app->add_option("--record", options->record,
                  "Ask the device for all inputs, and write a recording");
  app->add_flag("--against-emulator", options->againstEmulator,
                "Tell for which inputs the device and the emulator differ");
  app->add_flag("--full", options->full, "All strata");
  addNumber(app, "--share", options->share, 1, 65536,
            "One of so many strata of each instruction")
      ->capture_default_str();
  addNumber(app, "--least-strata", options->leastStrata, 1, 65536,
            "But at least so many")
      ->capture_default_str();
  addSeed(app, options->seed, "Which strata");
  app->add_option("--filter", options->filter,
                  "Only instructions whose name has this text");
  app->add_option("--device", options->device,
                  "emulator, cuda or cuda:N (cuda to record and compare, else "
                  "emulator)");
  return {app, [options] { return run(*options); }};
}
