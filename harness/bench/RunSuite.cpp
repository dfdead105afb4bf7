//===- RunSuite.cpp - Measuring a suite row by row ------------------------===//
#include "harness/bench/Contenders.h"
#include "harness/bench/HostRows.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

using namespace tandem;
using namespace tandem::bench;
using nlohmann::json;

namespace {
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// To four significant digits: what a timing is worth.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  const double scale =
      std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

json sensorsJson(const std::vector<GpuSensors> &readings) {
  if (readings.empty())
    return nullptr;
  const auto range = [&](auto member) {
    const auto [low, high] = std::ranges::minmax(readings, {}, member);
    return json{rounded(std::invoke(member, low)),
                rounded(std::invoke(member, high))};
  };
  uint64_t reasons = 0;
  for (const GpuSensors &reading : readings)
    reasons |= reading.reasons;
  return {{"sm_mhz", range(&GpuSensors::smMegahertz)},
          {"memory_mhz", range(&GpuSensors::memoryMegahertz)},
          {"watts", range(&GpuSensors::watts)},
          {"celsius", range(&GpuSensors::celsius)},
          {"reasons", reasonWords(reasons)},
          {"slowdown", (reasons & slowdownReasons) != 0}};
}

const Contender *fastest(const std::vector<Contender> &all,
                         Contender::Kind kind) {
  const Contender *best = nullptr;
  for (const Contender &one : all)
    if (one.kind == kind && one.graph && !one.timing.us.empty() &&
        (!best || one.timing.medianUs() < best->timing.medianUs()))
      best = &one;
  return best;
}

json contenderJson(const Contender &one, const Contender *ours,
                   const Contender *original) {
  json j = {{"name", one.name}, {"kind", kindName(one.kind)}};
  if (!one.detail.empty())
    j["detail"] = one.detail;
  if (!one.error.empty())
    j["error"] = one.error;
  if (!one.set.empty())
    j["set"] = one.set;
  if (one.difference)
    j["difference"] = std::isfinite(*one.difference)
                          ? json(rounded(*one.difference))
                          : json("not finite");
  if (one.timing.us.empty())
    return j;
  j["us"] = rounded(one.timing.medianUs());
  j["us_low"] = rounded(quantile(one.timing.us, 0.1));
  j["us_high"] = rounded(quantile(one.timing.us, 0.9));
  // Above 1: we are faster. A control compares a contender with itself.
  const Contender *base =
      one.kind == Contender::Kind::Control ? original : ours;
  if (base && base != &one && !base->timing.us.empty())
    j["ratio"] = rounded(ratioOf(one.timing, base->timing));
  return j;
}

class Runner {
public:
  Runner(const Bench &bench, const RunOptions &options)
      : bench(bench), options(options), filler(*bench.device) {}

  json runRow(const Row &row) {
    const Clock::time_point begin = Clock::now();
    json result = {{"name", row.name},   {"recipe", row.recipe.name},
                   {"dims", row.dims},   {"bytes", row.bytes},
                   {"flops", row.flops}, {"ceiling", ceilingName(row.ceiling)}};
    if (row.reachShare > 0)
      result["reach_share"] = row.reachShare;
    if (row.reachRatio > 0)
      result["reach_ratio"] = row.reachRatio;
    Result<void> done;
    switch (row.kind) {
    case RowKind::Kernel:
      done = measureKernel(row, result);
      break;
    case RowKind::Launch:
      result["kind"] = "launch";
      done = measureLaunch(row, bench, options, result);
      break;
    case RowKind::Compile:
      result["kind"] = "compile";
      done = measureCompile(row, bench, options, result);
      break;
    }
    if (!done)
      result["error"] = done.error().text();
    result["seconds"] = rounded(secondsSince(begin));
    return result;
  }

private:
  Result<void> measureKernel(const Row &row, json &result) {
    const Rotation rotation =
        rotationFor(row.bytes, row.flops, bench.device->queue()->l2Bytes());
    result["sets"] = rotation.sets;
    result["launches"] = rotation.launches;
    Memory memory(*bench.device);
    const Result<std::vector<OperandSet>> sets =
        makeSets(row, rotation.sets, memory, filler);
    if (!sets)
      return sets.error();
    if (Result<void> ok = bench.device->queue()->synchronize(); !ok)
      return ok;
    Contenders contenders(row, bench, rotation, *sets, memory, filler);
    contenders.addOurs();
    contenders.addCeilings(options.seed);
    for (const std::string &peer : row.peers)
      if (std::ranges::find(options.peers, peer) != options.peers.end())
        contenders.addPeer(peer, openedCublas(peer));
    contenders.addControl();
    const Result<void> compared = contenders.compare();
    if (!compared)
      result["compare_error"] = compared.error().text();
    const Result<std::vector<GpuSensors>> sensors =
        contenders.time(options.rounds, options.seed);
    describe(contenders, row, result);
    if (!sensors)
      return sensors.error();
    result["sensors"] = sensorsJson(*sensors);
    return {};
  }

  Result<std::unique_ptr<Cublas>> &openedCublas(const std::string &peer) {
    if (peer == "cublas" && !cublasWasTried) {
      cublasWasTried = true;
      cublas = Cublas::open(*bench.device);
    }
    return cublas;
  }

  static void describe(const Contenders &contenders, const Row &row,
                       json &result) {
    const Contender *ours = fastest(contenders.all, Contender::Kind::Ours);
    const Contender *ceiling =
        fastest(contenders.all, Contender::Kind::Ceiling);
    json list = json::array();
    for (const Contender &one : contenders.all) {
      const Contender *original = nullptr;
      for (const Contender &other : contenders.all)
        if (&other != &one && other.graph == one.graph)
          original = &other;
      list.push_back(contenderJson(one, ours, original));
    }
    result["contenders"] = std::move(list);
    double best = 0;
    for (const Contender &one : contenders.all)
      if (ours && one.kind == Contender::Kind::Peer && !one.timing.us.empty()) {
        const double ratio = ratioOf(one.timing, ours->timing);
        if (best == 0 || ratio < best)
          best = ratio;
      }
    if (best > 0)
      result["ratio"] = rounded(best);
    if (ceiling)
      result["ceiling_us"] = rounded(ceiling->timing.medianUs());
    if (!ours)
      return;
    const double us = ours->timing.medianUs();
    result["us"] = rounded(us);
    result["gb_per_s"] = rounded(static_cast<double>(row.bytes) / us / 1e3);
    if (row.flops > 0)
      result["tflop_per_s"] =
          rounded(static_cast<double>(row.flops) / us / 1e6);
    bool isReached = true;
    if (ceiling) {
      const double share = ratioOf(ceiling->timing, ours->timing);
      result["share"] = rounded(share);
      isReached &= share >= row.reachShare;
    }
    isReached &= best == 0 || best >= row.reachRatio;
    if (row.reachShare > 0 || row.reachRatio > 0)
      result["reached"] = isReached;
  }

  const Bench &bench;
  const RunOptions &options;
  Filler filler;
  Result<std::unique_ptr<Cublas>> cublas = Error("cuBLAS was not opened");
  bool cublasWasTried = false;
};

const json *rowNamed(const json &rows, const std::string &name) {
  for (const json &row : rows)
    if (row.is_object() && row.value("name", "") == name)
      return &row;
  return nullptr;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[32] = {};
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}
} // namespace

Result<json>
tandem::bench::runSuite(const Suite &suite, const Bench &bench,
                        const RunOptions &options,
                        const std::function<void(const json &)> &progress) {
  GpuQueue *queue = bench.device->queue();
  if (!queue)
    return Error(std::string(bench.device->kind()) +
                 ": only a GPU is measured, `tandem bench emulator` times the "
                 "emulator");
  const Clock::time_point begin = Clock::now();
  const DeviceInfo info = bench.device->info();
  json document = {
      {"suite", suite.name},
      {"title", suite.title},
      {"date", today()},
      {"device",
       {{"name", info.name},
        {"driver", info.driver},
        {"facts", info.facts},
        {"l2_bytes", queue->l2Bytes()}}},
      {"target", bench.target},
      {"method",
       "one CUDA graph of at least 20 launches a contender, rotating over more "
       "than twice the L2 cache; median of " +
           std::to_string(options.rounds) +
           " rounds of all contenders, in an order drawn anew each round"},
      {"peers", options.peers},
      {"rows", json::array()}};
  Runner runner(bench, options);
  for (const Row &row : suite.rows) {
    if (row.name.find(options.filter) == std::string::npos)
      continue;
    if (const json *earlier = rowNamed(options.known, row.name)) {
      document["rows"].push_back(*earlier);
      continue;
    }
    if (secondsSince(begin) >= options.seconds ||
        (options.stop && *options.stop)) {
      document["rows"].push_back(
          {{"name", row.name}, {"error", "no time was left"}});
      continue;
    }
    document["rows"].push_back(runner.runRow(row));
    document["seconds"] = rounded(secondsSince(begin));
    const bool isLost = !queue->synchronize();
    if (isLost)
      document["lost"] = true;
    progress(document);
    if (isLost)
      break;
  }
  return document;
}

bool tandem::bench::isComplete(const json &document) {
  for (const json &row : document.at("rows")) {
    if (row.contains("error"))
      return false;
    const json sensors = row.value("sensors", json());
    if (sensors.is_object() && sensors.value("slowdown", false))
      return false;
    for (const json &one : row.value("contenders", json::array()))
      if (one.contains("error") && one.value("kind", "") == "ours")
        return false;
  }
  return true;
}
