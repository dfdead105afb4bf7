//===- References.h - Functions to compare approximations with --*- C++ -*-===//
//
// In PTX, so that they run beside the instruction that is measured, and in
// correctly rounded f64 operations only, so that every device gives the same
// bits. Relative errors are below 2^-45, far below a step of a Measure.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_HARDWARE_REFERENCES_H
#define TANDEM_HARNESS_HARDWARE_REFERENCES_H

#include <string>

namespace tandem::hardware {

/// Computes %ref from %w0 (and %w1), the operands as f64; NaN where the
/// function has no value. Functions: ex2, lg2, rcp, rsqrt, sqrt, tanh, div; sin
/// and cos are those of 2 pi t, where t is the operand times 1/(2 pi) in f32,
/// rounded toward zero: sin.approx is that product and a look-up.
std::string referenceText(const std::string &function);

/// The registers that the texts use.
std::string referenceRegisters();

} // namespace tandem::hardware

#endif // TANDEM_HARNESS_HARDWARE_REFERENCES_H
