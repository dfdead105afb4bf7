//===- ApproximateProbes.cpp - Instructions with an envelope --------------===//
#include "harness/hardware/Probe.h"

using namespace tandem::hardware;

namespace {
/// The unit of a deviation is chosen so that the largest is some thousands.
struct Row {
  const char *instruction;
  const char *signature;
  const char *reference;
  int floorExponent;
  int bits;
  /// low <= |x| <= high, or outside when low > high; 0, 0: all.
  double low = 0, high = 0;
};

constexpr Row rows[] = {
    {"ex2.approx{,.ftz}.f32", "all f32 -> f32", "ex2", -126, 34},
    {"rcp.approx{,.ftz}.f32", "all f32 -> f32", "rcp", -126, 34},
    {"rsqrt.approx{,.ftz}.f32", "all f32 -> f32", "rsqrt", -126, 34},
    {"sqrt.approx{,.ftz}.f32", "all f32 -> f32", "sqrt", -126, 34},
    // Absolute near 1, relative elsewhere.
    {"lg2.approx{,.ftz}.f32", "all f32 -> f32", "lg2", 0, 34, 0.5, 2},
    {"lg2.approx{,.ftz}.f32", "all f32 -> f32", "lg2", 0, 34, 2, 0.5},
    {"sin.approx{,.ftz}.f32", "all f32 -> f32", "sin", 0, 34},
    {"cos.approx{,.ftz}.f32", "all f32 -> f32", "cos", 0, 34},
    {"tanh.approx.f32", "all f32 -> f32", "tanh", -126, 29},
    {"ex2.approx.f16", "all f16 -> f16", "ex2", -14, 23},
    {"ex2.approx.ftz.bf16", "all bf16 -> bf16", "ex2", -126, 20},
    {"tanh.approx.f16", "all f16 -> f16", "tanh", -14, 23},
    {"tanh.approx.bf16", "all bf16 -> bf16", "tanh", -126, 20},
    {"div.full{,.ftz}.f32", "f32 f32 -> f32", "div", -126, 34},
    // Beyond 2^126 the divisor gives 0: no deviation.
    {"div.approx{,.ftz}.f32", "f32 f32 -> f32", "div", -126, 34},
    {"rcp.approx.ftz.f64", "f64 -> f64", "rcp", -1022, 33},
    {"rsqrt.approx{,.ftz}.f64", "f64 -> f64", "rsqrt", -1022, 33},
};
} // namespace

void tandem::hardware::addApproximateProbes(std::vector<Probe> &probes) {
  for (const Row &row : rows)
    for (const std::string &instruction : expandBraces(row.instruction)) {
      Probe probe = scalarProbe(instruction, row.signature);
      Measure &measure = probe.measure;
      measure.reference = row.reference;
      measure.floorExponent = row.floorExponent;
      measure.bits = row.bits;
      measure.hasDomain = row.low != 0;
      measure.low = row.low;
      measure.high = row.high;
      if (measure.hasDomain)
        probe.name += row.low < row.high ? " near 1" : " elsewhere";
      probes.push_back(std::move(probe));
    }
}
