//===- HostNumbers.h - Numbers that the host computes -----------*- C++ -*-===//
//
// Shared by references and code generation, because SEMANTICS makes them part
// of the contract: whoever computed them another way would differ in the last
// bit.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_HOSTNUMBERS_H
#define TANDEM_REFOPS_CORE_HOSTNUMBERS_H

#include <cstdint>
#include <vector>

namespace tandem {

/// The frequencies of ROPE without `inv_freq`: theta^(-i / half) for i below
/// \p half, in double, each rounded once to f32. \p theta is the param, which
/// is f32 already.
std::vector<float> ropeFrequencies(float theta, int64_t half);

/// The default `scale` of attention and of GDN_STEP: 1 / sqrt(size) in double,
/// rounded once to f32.
float inverseRoot(int64_t size);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_HOSTNUMBERS_H
