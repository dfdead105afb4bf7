//===- Recording.cpp - What a GPU gave for each probe ---------------------===//
#include "harness/hardware/Recording.h"

#include "harness/hardware/ProbeKernel.h"
#include "harness/io/Files.h"
#include "refops/core/JsonText.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace tandem;
using namespace tandem::hardware;
using nlohmann::json;

static constexpr int16_t cut = 32767;

uint32_t tandem::hardware::keptHash(const Probe &probe, uint32_t hash) {
  return probe.strataBits() == 16 ? (hash ^ hash >> 16) >> 4 & 0xff : hash;
}

uint32_t tandem::hardware::strataPerGroup(const Probe &probe) {
  return probe.strataBits() == 16 ? 16 : 1;
}

SweepRequest tandem::hardware::sampleOf(const Probe &probe) {
  SweepRequest request;
  request.wantsOutput = true;
  const auto first = [&](uint32_t strata, uint32_t count) {
    request.strata.resize(strata);
    std::iota(request.strata.begin(), request.strata.end(), 0);
    request.count = count;
  };
  if (probe.exhaustiveBits == 32) {
    // Two of each sign and exponent of an f32.
    for (uint32_t s = 0; s < 512; ++s)
      request.strata.push_back(s << 7 | (s * 0x9e3779b1u >> 25));
    request.count = 2;
    request.step = 0x9e37;
  } else if (probe.exhaustiveBits == 16) {
    first(256, 4);
    request.step = 61;
  } else if (probe.group == 1) {
    first(32, 8);
  } else if (probe.outputWords <= 8) {
    first(probe.group == 32 ? 8 : 4, static_cast<uint32_t>(probe.group));
  } else {
    first(1, static_cast<uint32_t>(probe.group));
  }
  return request;
}

SweepRequest tandem::hardware::single(const Probe &probe, uint32_t stratum,
                                      uint32_t input) {
  SweepRequest request;
  request.strata = {stratum};
  request.wantsOutput = true;
  if (probe.exhaustiveBits) {
    request.step = input;
    request.count = 2;
  } else {
    request.count = input + 1;
  }
  return request;
}

const ProbeRecord *Recording::find(const std::string &name) const {
  for (const ProbeRecord &record : probes)
    if (record.name == name)
      return &record;
  return nullptr;
}

/// The first input of \p stratum whose deviation is \p deviation.
static Result<Extreme> findExtreme(const Probe &probe, Sweeper &sweeper,
                                   uint32_t stratum, int32_t deviation) {
  SweepRequest request;
  request.strata = {stratum};
  request.wantsOutput = true;
  const Result<SweepResult> result = sweeper.run(request);
  if (!result)
    return result.error();
  const auto stride = static_cast<size_t>(outputStride(probe));
  for (uint32_t i = 0; i < probe.perStratum(); ++i) {
    const uint32_t *output = &result->output[i * stride];
    if (static_cast<int32_t>(output[stride - 1]) == deviation)
      // The upper word of an f64: approximations fill no other.
      return Extreme{stratum, i, output[stride - 2], deviation};
  }
  return Error(probe.name + ": two runs gave different deviations");
}

Result<ProbeRecord> tandem::hardware::recordProbe(const Probe &probe,
                                                  Sweeper &sweeper) {
  if (Result<void> ok = sweeper.load(probe); !ok)
    return ok.error();
  SweepRequest everything;
  everything.strata.resize(probe.strata());
  std::iota(everything.strata.begin(), everything.strata.end(), 0);
  const Result<SweepResult> swept = sweeper.run(everything);
  if (!swept)
    return swept.error();
  ProbeRecord record;
  record.name = probe.name;
  for (const StratumSums &sums : swept->sums) {
    record.hashes.push_back(keptHash(probe, sums.hash));
    record.all += sums.all;
  }
  if (probe.measure.exists()) {
    const uint32_t group = strataPerGroup(probe);
    uint32_t lowest = 0, highest = 0;
    for (uint32_t s = 0; s < probe.strata(); ++s) {
      const StratumSums &sums = swept->sums[s];
      if (s % group == 0) {
        record.least.push_back(cut);
        record.most.push_back(-cut);
      }
      const auto kept = [](int32_t deviation) {
        return static_cast<int16_t>(std::clamp<int32_t>(deviation, -cut, cut));
      };
      record.least.back() = std::min(record.least.back(), kept(sums.least));
      record.most.back() = std::max(record.most.back(), kept(sums.most));
      if (sums.least < swept->sums[lowest].least)
        lowest = s;
      if (sums.most > swept->sums[highest].most)
        highest = s;
    }
    if (swept->sums[lowest].least <= swept->sums[lowest].most) {
      auto low = findExtreme(probe, sweeper, lowest, swept->sums[lowest].least);
      if (!low)
        return low.error();
      auto high =
          findExtreme(probe, sweeper, highest, swept->sums[highest].most);
      if (!high)
        return high.error();
      record.lowest = *low;
      record.highest = *high;
    }
  }
  Result<SweepResult> sample = sweeper.run(sampleOf(probe));
  if (!sample)
    return sample.error();
  record.sample = std::move(sample->output);
  return record;
}

namespace {
template <typename T>
void append(std::string &bytes, const std::vector<T> &values) {
  bytes.append(reinterpret_cast<const char *>(values.data()),
               values.size() * sizeof(T));
}

/// Takes values off the front of `bytes`.
struct Reader {
  std::string_view bytes;
  template <typename T>
  bool take(std::vector<T> &values, size_t count) {
    if (bytes.size() / sizeof(T) < count)
      return false;
    values.resize(count);
    std::memcpy(values.data(), bytes.data(), count * sizeof(T));
    bytes.remove_prefix(count * sizeof(T));
    return true;
  }
};

json toJson(const Extreme &extreme) {
  return {extreme.stratum, extreme.input, extreme.output, extreme.deviation};
}

Extreme extremeFrom(const json &value) {
  return {value.at(0).get<uint32_t>(), value.at(1).get<uint32_t>(),
          value.at(2).get<uint32_t>(), value.at(3).get<int32_t>()};
}

const Probe *probeNamed(const std::string &name) {
  for (const Probe &probe : allProbes())
    if (probe.name == name)
      return &probe;
  return nullptr;
}

size_t sampleWords(const Probe &probe) {
  const SweepRequest request = sampleOf(probe);
  return request.strata.size() * request.count *
         static_cast<size_t>(outputStride(probe));
}
} // namespace

Result<void> tandem::hardware::writeRecording(const Recording &recording,
                                              const std::string &folder) {
  std::string bytes;
  json list = json::array();
  for (const ProbeRecord &record : recording.probes) {
    json entry = {
        {"name", record.name}, {"at", bytes.size()}, {"all", record.all}};
    if (record.lowest)
      entry["lowest"] = toJson(*record.lowest);
    if (record.highest)
      entry["highest"] = toJson(*record.highest);
    if (record.hashes.size() == 65536) {
      std::vector<uint8_t> narrow(record.hashes.begin(), record.hashes.end());
      append(bytes, narrow);
    } else {
      append(bytes, record.hashes);
    }
    append(bytes, record.least);
    append(bytes, record.most);
    append(bytes, record.sample);
    list.push_back(std::move(entry));
  }
  // One probe a line.
  std::string text = "{\"device\": " + json(recording.device).dump() +
                     ",\n\"driver\": " + json(recording.driver).dump() +
                     ",\n\"missing\": " + json(recording.missing).dump() +
                     ",\n\"probes\": [\n";
  for (size_t i = 0; i < list.size(); ++i)
    text += list[i].dump() + (i + 1 < list.size() ? ",\n" : "\n");
  text += "]}\n";
  const std::string indexPath = folder + "/index.json",
                    bytesPath = folder + "/sweeps.bin";
  return harness::writeFiles({{indexPath, text}, {bytesPath, bytes}});
}

Result<Recording> tandem::hardware::readRecording(const std::string &folder) {
  const std::string indexPath = folder + "/index.json";
  const Result<std::string> text = harness::readFile(indexPath);
  if (!text)
    return text.error();
  const Result<std::string> bytes = harness::readFile(folder + "/sweeps.bin");
  if (!bytes)
    return bytes.error();
  const Result<json> index = parseJson(*text, indexPath);
  if (!index)
    return index.error();
  Recording recording;
  try {
    recording.device = index->at("device").get<std::string>();
    recording.driver = index->at("driver").get<std::string>();
    recording.missing =
        index->at("missing").get<std::map<std::string, std::string>>();
    for (const json &entry : index->at("probes")) {
      ProbeRecord record;
      record.name = entry.at("name").get<std::string>();
      const Probe *probe = probeNamed(record.name);
      if (!probe)
        return Error(indexPath + ": there is no probe '" + record.name + "'");
      record.all = entry.at("all").get<uint32_t>();
      if (entry.contains("lowest"))
        record.lowest = extremeFrom(entry["lowest"]);
      if (entry.contains("highest"))
        record.highest = extremeFrom(entry["highest"]);
      const auto at = entry.at("at").get<size_t>();
      if (at > bytes->size())
        return Error(indexPath + ": " + record.name + " lies behind the end");
      Reader reader{std::string_view(*bytes).substr(at)};
      bool ok;
      if (probe->strataBits() == 16) {
        std::vector<uint8_t> narrow;
        ok = reader.take(narrow, 65536);
        record.hashes.assign(narrow.begin(), narrow.end());
      } else {
        ok = reader.take(record.hashes, probe->strata());
      }
      const size_t groups = probe->measure.exists()
                                ? probe->strata() / strataPerGroup(*probe)
                                : 0;
      ok = ok && reader.take(record.least, groups) &&
           reader.take(record.most, groups) &&
           reader.take(record.sample, sampleWords(*probe));
      if (!ok)
        return Error(folder + "/sweeps.bin: ends in the middle of " +
                     record.name);
      recording.probes.push_back(std::move(record));
    }
  } catch (const json::exception &error) {
    return Error(indexPath + ": " + error.what());
  }
  return recording;
}
