//===- ProbeTest.cpp - Probes, their inputs and recordings ----------------===//
#include "harness/hardware/Inputs.h"
#include "harness/hardware/Recording.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

using namespace tandem;
using namespace tandem::hardware;

namespace {
const Probe &named(const std::string &name) {
  for (const Probe &probe : allProbes())
    if (probe.name == name)
      return probe;
  FAIL("no probe is named " << name);
  return allProbes().front();
}
} // namespace

TEST_SUITE("hardware probes") {
  TEST_CASE("braces multiply") {
    CHECK(expandBraces("a{b,c}{,d}") ==
          std::vector<std::string>{"ab", "abd", "ac", "acd"});
    CHECK(expandBraces("a") == std::vector<std::string>{"a"});
  }

  TEST_CASE("names are unique, and strata cover an exhaustive operand") {
    std::set<std::string> names;
    for (const Probe &probe : allProbes()) {
      CHECK_MESSAGE(names.insert(probe.name).second, probe.name);
      if (probe.exhaustiveBits)
        CHECK(probe.strataBits() + probe.stratumBits() == probe.exhaustiveBits);
      CHECK(probe.perStratum() % static_cast<uint32_t>(probe.group) == 0);
    }
    CHECK(named("sqrt.rn.f32").strata() == 65536);
  }

  // What lets a few strata be compared with a recording of all.
  TEST_CASE("a stratum's inputs do not depend on the others or their number") {
    const Probe &probe = named("fma.rn.f64");
    const std::vector<uint32_t> few = makeInputs(probe, {6}, 4),
                                many = makeInputs(probe, {5, 6, 7}, 9);
    for (size_t word = 0; word < 6; ++word)
      for (size_t i = 0; i < 4; ++i)
        CHECK(few[word * 4 + i] == many[word * 27 + 9 + i]);
  }

  TEST_CASE("a recording is read back as it was written, cut off is refused") {
    const std::string folder =
        (std::filesystem::temp_directory_path() / "tandem-recording").string();
    std::filesystem::create_directories(folder);
    const Probe &probe = named("ex2.approx.ftz.bf16");
    const SweepRequest request = sampleOf(probe);
    Recording recording;
    recording.device = "a GPU";
    recording.missing["x"] = "refused";
    ProbeRecord record;
    record.name = probe.name;
    for (uint32_t s = 0; s < probe.strata(); ++s) {
      record.hashes.push_back(s * 77777);
      record.least.push_back(static_cast<int16_t>(-3 - static_cast<int>(s)));
      record.most.push_back(static_cast<int16_t>(s));
    }
    // Output and deviation of each.
    record.sample.assign(2 * request.strata.size() * request.count, 12);
    record.lowest = Extreme{1, 2, 3, -4};
    recording.probes.push_back(record);
    REQUIRE(bool(writeRecording(recording, folder)));
    Result<Recording> read = readRecording(folder);
    REQUIRE_MESSAGE(bool(read), (read ? "" : read.error().text()));
    CHECK(read->device == "a GPU");
    CHECK(read->missing.at("x") == "refused");
    const ProbeRecord *back = read->find(probe.name);
    REQUIRE(back);
    CHECK(back->hashes == record.hashes);
    CHECK(back->least == record.least);
    CHECK(back->most == record.most);
    CHECK(back->sample == record.sample);
    REQUIRE(back->lowest.has_value());
    CHECK(back->lowest->deviation == -4);
    CHECK(!back->highest.has_value());
    std::filesystem::resize_file(folder + "/sweeps.bin", 2000);
    Result<Recording> cut = readRecording(folder);
    REQUIRE(!bool(cut));
    CHECK(cut.error().text().find("ends in the middle of") !=
          std::string::npos);
    std::filesystem::remove_all(folder);
  }
}
