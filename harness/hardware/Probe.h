//===- Probe.h - One instruction that hardware is asked about ---*- C++ -*-===//
//
// A probe is PTX from input registers to output registers, and which inputs it
// gets: all of an operand of up to 32 bits, or random ones of given formats. It
// runs on any device behind Device.h; ProbeKernel.h wraps it into a kernel.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_HARDWARE_PROBE_H
#define TANDEM_HARNESS_HARDWARE_PROBE_H

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::hardware {

/// How an approximate result is measured: its deviation from `reference`,
/// divided by max(|reference|, 2^floorExponent), in steps of 2^-bits.
struct Measure {
  /// A function of References.h; empty for an exact instruction.
  std::string reference;
  int floorExponent = -126;
  int bits = 34;
  /// Only inputs with low <= |x| <= high are measured; the others if low >
  /// high.
  double low = 0, high = 0;
  bool hasDomain = false;
  bool exists() const { return !reference.empty(); }
};

struct Probe {
  std::string name;
  /// Reads %x0, %x1, ... (or the words %a0, %a1, ... of a matrix instruction)
  /// and writes %y (or %d0, %d1, ...).
  std::string body;
  /// Of each operand: f32, f16, bf16, f16x2, bf16x2, f64, u16, u32, u64, n32 (a
  /// small number), e4m3x2, e5m2x2, p; e4m3x4, e5m2x4 and bits of matrices.
  std::vector<std::string> inputs;
  /// The format of the result.
  std::string output = "u32";
  /// 32-bit words of output; 1 or 2 unless a matrix instruction.
  int outputWords = 1;
  /// Bits of the operand of which all values are tried; 0: random ones.
  int exhaustiveBits = 0;
  /// Threads that execute it together: 1, 32 or 128.
  int group = 1;
  /// Works on %a and %d, not on %x and %y.
  bool isMatrix = false;
  /// Declarations in front of the loop.
  std::string declarations;
  /// Of the PTX ISA.
  std::string version = "8.0";
  Measure measure;

  /// 32-bit words of random input a thread.
  int inputWords() const;
  /// 2^strataBits strata of 2^stratumBits inputs (or threads) each.
  int strataBits() const { return exhaustiveBits ? exhaustiveBits / 2 : 8; }
  int stratumBits() const;
  uint32_t strata() const { return uint32_t(1) << strataBits(); }
  uint32_t perStratum() const { return uint32_t(1) << stratumBits(); }
};

/// 16, 32 or 64; 1 for a predicate.
int bitsOfFormat(const std::string &format);

/// All probes, names unique.
const std::vector<Probe> &allProbes();

/// `a{b,c}{,d}` as `ab`, `abd`, `ac`, `acd`.
std::vector<std::string> expandBraces(const std::string &pattern);

// The parts of allProbes, one file each.
void addScalarProbes(std::vector<Probe> &probes);
void addApproximateProbes(std::vector<Probe> &probes);
void addMatrixProbes(std::vector<Probe> &probes);
void addWarpgroupProbes(std::vector<Probe> &probes);

/// A probe of one instruction; \p operands as in `%y, %x0, %x1`, which is what
/// an empty one means.
Probe scalarProbe(const std::string &instruction, const std::string &signature,
                  const std::string &operands = {});

} // namespace tandem::hardware

#endif // TANDEM_HARNESS_HARDWARE_PROBE_H
