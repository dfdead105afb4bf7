//===- Inputs.cpp - Random operands of probes -----------------------------===//
#include "harness/hardware/Inputs.h"

#include <algorithm>

using namespace tandem::hardware;

namespace {
/// splitmix64: the same everywhere.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return (next() >> 32) * n >> 32; }
};

struct Format {
  int exponentBits = 0, fractionBits = 0, perOperand = 1;
  bool hasInfinity = true;
  int bits() const { return 1 + exponentBits + fractionBits; }
};

Format formatOf(const std::string &name) {
  if (name == "f16" || name == "f16x2")
    return {5, 10, name == "f16" ? 1 : 2};
  if (name == "bf16" || name == "bf16x2")
    return {8, 7, name == "bf16" ? 1 : 2};
  if (name == "f64")
    return {11, 52, 1};
  if (name == "e4m3x2" || name == "e4m3x4")
    return {4, 3, name == "e4m3x2" ? 2 : 4, false};
  if (name == "e5m2x2" || name == "e5m2x4")
    return {5, 2, name == "e5m2x2" ? 2 : 4};
  if (name == "f32")
    return {8, 23, 1};
  return {};
}

enum Kind : uint8_t {
  AnyBits,
  Close,
  Apart,
  FewBits,
  Small,
  Large,
  Special,
  Equal,
  NumKinds,
};

/// What a stratum has in common.
struct Stratum {
  Kind kind;
  /// Of exponents, from 0 to 1 of the format's range.
  uint32_t centre;
  bool isMatrix;
};

uint64_t element(const Format &format, const Stratum &stratum, Random &random) {
  const uint64_t any = random.next();
  const uint64_t sign = any >> 63,
                 fractionMask = (uint64_t(1) << format.fractionBits) - 1;
  const int64_t largest = (int64_t(1) << format.exponentBits) - 1;
  uint64_t fraction = any & fractionMask;
  int64_t exponent = 0;
  // One infinity in a matrix takes all its row.
  const bool isSpecial =
      stratum.kind == Special && random.below(stratum.isMatrix ? 200 : 2) == 0;
  if (isSpecial) {
    static constexpr int which = 6;
    switch (random.below(which)) {
    case 0: // zero
      fraction = 0;
      break;
    case 1: // subnormal
      break;
    case 2: // infinity
      exponent = largest;
      fraction = format.hasInfinity ? 0 : fractionMask - 1;
      break;
    case 3: // NaN
      exponent = largest;
      fraction |= 1;
      break;
    case 4: // largest
      exponent = format.hasInfinity ? largest - 1 : largest;
      fraction = fractionMask;
      break;
    default: // 1
      exponent = largest / 2;
      fraction = 0;
      break;
    }
    if (!format.hasInfinity && exponent == largest &&
        fraction == fractionMask && random.below(8))
      --fraction;
  } else {
    const int64_t middle =
        stratum.kind == Small   ? 1
        : stratum.kind == Large ? largest - 3
        : stratum.kind == FewBits || stratum.kind == Equal
            ? largest / 2
            : largest / 4 + int64_t(uint64_t(stratum.centre) *
                                        static_cast<uint64_t>(largest / 2) >>
                                    32);
    const uint64_t span = stratum.kind == Apart ? 26 : 5;
    if (stratum.kind == AnyBits && !stratum.isMatrix)
      exponent = static_cast<int64_t>(any >> 52 & 0x7ff) % (largest + 1);
    else
      exponent = middle + static_cast<int64_t>(random.below(span)) -
                 static_cast<int64_t>(span / 2);
    exponent = std::clamp<int64_t>(exponent, 0, largest - 1);
    if (stratum.kind == FewBits) {
      const int keep = std::min(format.fractionBits, 3);
      fraction &= ~(fractionMask >> keep);
    }
  }
  return (sign << format.exponentBits | static_cast<uint64_t>(exponent))
             << format.fractionBits |
         fraction;
}

uint64_t integer(int bits, const Stratum &stratum, Random &random) {
  const uint64_t any = random.next();
  const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  switch (stratum.kind) {
  case Close: // small, of either sign
    return (any % 17 - 8) & mask;
  case Apart: // any length
    return (any & mask) >> random.below(static_cast<uint64_t>(bits));
  case FewBits:
    return (uint64_t(1) << random.below(static_cast<uint64_t>(bits)) |
            uint64_t(1) << random.below(static_cast<uint64_t>(bits))) &
           mask;
  case Small: // around the least and largest signed number
    return ((mask >> 1) + any % 5 - 1) & mask;
  case Large: // around the largest unsigned number and zero
    return (any % 7 - 3) & mask;
  case Special:
    return any & 1 ? (any % 3 ? mask >> 1 : uint64_t(0)) : any >> 8 & mask;
  default:
    return any & mask;
  }
}

uint64_t operand(const std::string &name, const Format &format,
                 const Stratum &stratum, Random &random) {
  if (name == "bits" || name == "p")
    return random.next() & 0xffffffff;
  if (name == "n32") {
    const uint64_t any = random.next();
    return any & 7 ? (any >> 8) % 70 : any >> 32;
  }
  if (format.exponentBits == 0)
    return integer(bitsOfFormat(name), stratum, random);
  uint64_t bits = 0;
  for (int i = 0; i < format.perOperand; ++i)
    bits |= element(format, stratum, random) << (i * format.bits());
  return bits;
}
} // namespace

std::vector<uint32_t> tandem::hardware::makeInputs(
    const Probe &probe, const std::vector<uint32_t> &strata, uint32_t count) {
  const size_t all = strata.size() * count;
  std::vector<uint32_t> words(static_cast<size_t>(probe.inputWords()) * all);
  std::vector<Format> formats;
  for (const std::string &name : probe.inputs)
    formats.push_back(formatOf(name));
  for (size_t p = 0; p < strata.size(); ++p) {
    Random random{0x7461646eu + strata[p] * 0x100000001b3u};
    Stratum stratum = {static_cast<Kind>(strata[p] % NumKinds),
                       static_cast<uint32_t>(random.next()), probe.isMatrix};
    for (uint32_t i = 0; i < count; ++i) {
      size_t at = p * count + i;
      uint64_t first = 0;
      for (size_t o = 0; o < formats.size(); ++o) {
        const int bits = bitsOfFormat(probe.inputs[o]);
        uint64_t value = operand(probe.inputs[o], formats[o], stratum, random);
        if (o == 0)
          first = value;
        else if (stratum.kind == Equal && !probe.isMatrix &&
                 probe.inputs[o] == probe.inputs[0] && (value & 3) == 0)
          // The same, the opposite, or a neighbour.
          value = value & 4 ? first
                            : first ^ (value & 8 ? uint64_t(1) << (bits - 1)
                                                 : uint64_t(1));
        words[at] = static_cast<uint32_t>(value);
        at += all;
        if (bits == 64) {
          words[at] = static_cast<uint32_t>(value >> 32);
          at += all;
        }
      }
    }
  }
  return words;
}
