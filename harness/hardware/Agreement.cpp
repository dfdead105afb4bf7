//===- Agreement.cpp - Whether a device does what a recording says --------===//
#include "harness/hardware/Agreement.h"

#include "harness/hardware/ProbeKernel.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <set>

using namespace tandem;
using namespace tandem::hardware;

namespace {
constexpr size_t fewest = 6; // differences that are told
constexpr auto noDeviation = static_cast<uint32_t>(INT32_MIN);

std::string hex(uint32_t word) {
  char text[12];
  std::snprintf(text, sizeof text, "%08x", word);
  return text;
}

/// A seeded choice of strata, in ascending order.
std::vector<uint32_t> someStrata(const Probe &probe,
                                 const AgreementOptions &options) {
  const uint32_t all = probe.strata();
  const uint32_t wanted =
      std::min(all, std::max(all / options.share, options.leastStrata));
  std::set<uint32_t> chosen;
  uint64_t state = options.seed * 0x9e3779b97f4a7c15u + probe.name.size();
  while (chosen.size() < wanted) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto next = static_cast<uint32_t>(state >> 40);
    chosen.insert(wanted == all ? static_cast<uint32_t>(chosen.size())
                                : next % all);
  }
  return {chosen.begin(), chosen.end()};
}

/// `stratum 3, input 7 (a = 3f800000 40000000)`.
std::string placeOf(const Probe &probe, const SweepRequest &request,
                    const SweepResult &result, size_t i, uint32_t count) {
  const uint32_t stratum = request.strata[i / count];
  const auto input = static_cast<uint32_t>(i % count);
  std::string text = "stratum " + std::to_string(stratum) + ", input " +
                     std::to_string(input) + " (";
  if (probe.exhaustiveBits) {
    text += hex((stratum << probe.stratumBits()) + input * request.step);
  } else {
    const size_t all = request.strata.size() * count;
    const int words = probe.isMatrix ? 0 : probe.inputWords();
    for (int w = 0; w < words; ++w)
      text +=
          (w ? " " : "") + hex(result.input[static_cast<size_t>(w) * all + i]);
  }
  return text + ")";
}

std::string wordsOf(const uint32_t *words, int count) {
  std::string text;
  for (int w = 0; w < count; ++w)
    text += (w ? " " : "") + hex(words[w]);
  return text;
}

/// Differences between \p expected and the outputs of \p result, of the inputs
/// that are compared by their bits.
void compareOutputs(const Probe &probe, const SweepRequest &request,
                    const SweepResult &result,
                    const std::vector<uint32_t> &expected,
                    Disagreements &differences) {
  const auto stride = static_cast<size_t>(outputStride(probe));
  const uint32_t count = request.count ? request.count : probe.perStratum();
  size_t wrong = 0, compared = 0;
  std::vector<std::string> told;
  for (size_t i = 0; i < expected.size() / stride; ++i) {
    const uint32_t *got = &result.output[i * stride];
    const uint32_t *want = &expected[i * stride];
    if (probe.measure.exists() && want[stride - 1] != noDeviation)
      continue;
    ++compared;
    if (std::equal(got, got + probe.outputWords, want))
      continue;
    if (++wrong <= fewest)
      told.push_back(placeOf(probe, request, result, i, count) + " gives " +
                     wordsOf(got, std::min(probe.outputWords, 8)) +
                     ", expected " +
                     wordsOf(want, std::min(probe.outputWords, 8)));
  }
  if (wrong)
    differences.push_back(std::to_string(wrong) + " of " +
                          std::to_string(compared) + " outputs differ");
  differences.insert(differences.end(), told.begin(), told.end());
}

/// The order of floats as an order of integers.
int64_t ordered(const Probe &probe, uint32_t bits) {
  const int width = bitsOfFormat(probe.output) == 16 ? 16 : 32;
  const int64_t sign = int64_t(1) << (width - 1);
  const auto value = static_cast<int64_t>(bits);
  return value & sign ? sign - value : value;
}

/// The envelope at the input that deviates most: `low` and `high` have to give
/// what the hardware gave.
Result<void> checkExtreme(const Probe &probe, Sweeper &sweeper,
                          const Extreme &extreme, bool isLow,
                          Disagreements &differences) {
  SweepRequest request = single(probe, extreme.stratum, extreme.input);
  request.approximation = isLow ? "low" : "high";
  const Result<SweepResult> result = sweeper.run(request);
  if (!result)
    return result.error();
  const auto stride = static_cast<size_t>(outputStride(probe));
  const size_t i = request.count - 1;
  const uint32_t got = result->output[i * stride + stride - 2];
  const int64_t beyond = ordered(probe, extreme.output) - ordered(probe, got);
  if (beyond == 0)
    return {};
  const bool isTooNarrow = isLow ? beyond < 0 : beyond > 0;
  differences.push_back(
      std::string("the envelope is too ") + (isTooNarrow ? "narrow" : "wide") +
      (isLow ? " below: " : " above: ") +
      placeOf(probe, request, *result, i, request.count) + " gives " +
      hex(extreme.output) + " on the GPU, deviation " +
      std::to_string(extreme.deviation) + ", and at least " + hex(got) +
      ", deviation " +
      std::to_string(
          static_cast<int32_t>(result->output[i * stride + stride - 1])));
  return {};
}
} // namespace

Result<Disagreements>
tandem::hardware::checkProbe(const Probe &probe, const ProbeRecord &record,
                             Sweeper &sweeper, bool isEmulator,
                             const AgreementOptions &options) {
  if (Result<void> ok = sweeper.load(probe); !ok)
    return ok.error();
  Disagreements differences;
  const SweepRequest sample = sampleOf(probe);
  const Result<SweepResult> sampled = sweeper.run(sample);
  if (!sampled)
    return sampled.error();
  compareOutputs(probe, sample, *sampled, record.sample, differences);
  SweepRequest request;
  request.strata = someStrata(probe, options);
  const Result<SweepResult> swept = sweeper.run(request);
  if (!swept)
    return swept.error();
  size_t wrong = 0;
  std::string which;
  for (size_t p = 0; p < request.strata.size(); ++p) {
    const uint32_t stratum = request.strata[p];
    if (keptHash(probe, swept->sums[p].hash) == record.hashes[stratum])
      continue;
    if (++wrong <= fewest)
      which += " " + std::to_string(stratum);
  }
  if (wrong)
    differences.push_back("the hashes of " + std::to_string(wrong) + " of " +
                          std::to_string(request.strata.size()) +
                          " strata differ, first" + which);
  if (!record.lowest)
    return differences;
  if (!isEmulator) {
    // Another GPU gives the same results.
    for (size_t p = 0; p < request.strata.size(); ++p) {
      const size_t group = request.strata[p] / strataPerGroup(probe);
      if (swept->sums[p].least < record.least[group] ||
          swept->sums[p].most > record.most[group])
        differences.push_back("stratum " + std::to_string(request.strata[p]) +
                              " deviates further than recorded");
    }
    return differences;
  }
  for (const bool isLow : {true, false})
    if (Result<void> ok = checkExtreme(probe, sweeper,
                                       isLow ? *record.lowest : *record.highest,
                                       isLow, differences);
        !ok)
      return ok.error();
  return differences;
}

Result<Disagreements>
tandem::hardware::compareDevices(const Probe &probe, Sweeper &first,
                                 Sweeper &emulator,
                                 const AgreementOptions &options) {
  for (Sweeper *sweeper : {&first, &emulator})
    if (Result<void> ok = sweeper->load(probe); !ok)
      return ok.error();
  Disagreements differences;
  SweepRequest request;
  request.strata = someStrata(probe, options);
  const Result<SweepResult> a = first.run(request), b = emulator.run(request);
  if (!a || !b)
    return (a ? b : a).error();
  SweepRequest closer;
  closer.wantsOutput = true;
  size_t wrong = 0;
  for (size_t p = 0; p < request.strata.size(); ++p)
    if (a->sums[p].hash != b->sums[p].hash && ++wrong <= 4)
      closer.strata.push_back(request.strata[p]);
  if (wrong) {
    differences.push_back(std::to_string(wrong) + " of " +
                          std::to_string(request.strata.size()) +
                          " strata differ");
    const Result<SweepResult> c = first.run(closer), d = emulator.run(closer);
    if (!c || !d)
      return (c ? d : c).error();
    compareOutputs(probe, closer, *d, c->output, differences);
  }
  if (!probe.measure.exists())
    return differences;
  StratumSums got, low, high;
  request.approximation = "low";
  const Result<SweepResult> lows = emulator.run(request);
  request.approximation = "high";
  const Result<SweepResult> highs = emulator.run(request);
  if (!lows || !highs)
    return (lows ? highs : lows).error();
  for (size_t p = 0; p < request.strata.size(); ++p) {
    got.least = std::min(got.least, a->sums[p].least);
    got.most = std::max(got.most, a->sums[p].most);
    low.least = std::min(low.least, lows->sums[p].least);
    high.most = std::max(high.most, highs->sums[p].most);
  }
  differences.push_back("deviations from " + std::to_string(got.least) +
                        " to " + std::to_string(got.most) +
                        ", the emulator's from " + std::to_string(low.least) +
                        " to " + std::to_string(high.most) + " steps of 2^-" +
                        std::to_string(probe.measure.bits));
  return differences;
}
