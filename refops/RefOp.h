//===- RefOp.h - A reference and who vouches for it -------------*- C++ -*-===//
#ifndef TANDEM_REFOPS_REFOP_H
#define TANDEM_REFOPS_REFOP_H

#include "refops/Evaluate.h"
#include "refops/Parallel.h"
#include "refops/Primitives.h"
#include "refops/Storage.h"
#include "refops/core/Params.h"

#include <mutex>
#include <optional>
#include <string>

namespace tandem::refops {

/// Index faults of one evaluation, from any thread.
struct FaultLog {
  std::mutex mutex;
  std::vector<IndexFault> faults;
  void add(const IndexFault &fault) {
    const std::scoped_lock lock(mutex);
    faults.push_back(fault);
  }
};

/// One op applied to operands whose shapes and params have been checked.
template <typename T>
struct OpCall {
  std::vector<Source> in;
  std::vector<Sink> out;
  /// The operands that the op updates in place, in the signature's order (for
  /// FUSED: the recipe's states). What is not written keeps its value, and
  /// `in` sees what is written.
  std::vector<Sink> state;
  const Params *params = nullptr;
  const StepNumerics *numerics = nullptr;
  int jobs = 1;
  /// The step's index, for faults.
  int step = 0;
  FaultLog *log = nullptr;
  /// FUSED only: its recipe and the contract of its steps.
  const Recipe *recipe = nullptr;
  const Contract *contract = nullptr;
};

/// Whether an integer that another step may have computed is certain.
inline bool isCertain(const Source &integers, int64_t linear) {
  Bounded x;
  if (integers.mayErr())
    integers.read(linear, 1, &x);
  return x.error == 0;
}

/// An integer param of sequence \p b: as given, or as an operand holds it.
template <typename T>
int64_t intParam(const OpCall<T> &call, std::string_view name, int64_t fallback,
                 int64_t b = 0) {
  const std::optional<size_t> operand = call.params->operandOf(name);
  if (!operand)
    return call.params->getInt(name, fallback);
  const Source &held = call.in[*operand];
  return held.readInteger(held.desc().numElements() == 1 ? 0 : b);
}

/// Who says that an expected value is right.
struct Provenance {
  enum class Kind : uint8_t { ByHand, HighPrecision, SecondFormulation };
  Kind kind = Kind::ByHand;
  /// The calculation, so that a reader can check it.
  std::string how;
  /// What prints the numbers again; empty for hand arithmetic.
  std::string command = {};
};

struct KnownTensor {
  DType dtype = DType::F32;
  Dims shape;
  std::vector<double> values;
};

/// Outputs of known answers are filled with this before the op runs, so that an
/// expected value of it means "untouched".
inline constexpr double untouched = -77;

struct KnownAnswer {
  std::string name;
  std::vector<KnownTensor> inputs;
  Params params = {};
  /// The outputs, then what the op updates in place. Rounded once to its dtype
  /// before the comparison.
  std::vector<KnownTensor> expected;
  /// Allowed distance in units in the last place of the output's dtype.
  double maxUlp = 0;
  Provenance from;
};

struct RefOp {
  Opcode code = Opcode::NOP;
  std::string_view name;
  Result<void> (*evaluate)(OpCall<double> &call) = nullptr;
  Result<void> (*evaluateBounded)(OpCall<Bounded> &call) = nullptr;
  /// Whether the bound needs the contract's depth in any case.
  bool reduces = false;
  /// Whether it needs to know how dot products are computed, and with `fma` the
  /// depth.
  bool multiplies = false;
  std::vector<KnownAnswer> knownAnswers;
};

/// Elements that an elementwise op holds at a time.
inline constexpr int64_t blockElements = 2048;

/// Calls \p body(first, count, rows) for blocks of an elementwise op with
/// outputs of \p elements elements, rows[i] being scratch of that size for each
/// of \p numRows operands.
template <typename T, typename Body>
void forBlocks(const OpCall<T> &call, int64_t elements, size_t numRows,
               int64_t workPerElement, Body body) {
  const int64_t blocks = (elements + blockElements - 1) / blockElements;
  parallelFor(blocks, blockElements * workPerElement, call.jobs,
              [&](int64_t begin, int64_t end) {
                std::vector<std::vector<T>> rows(
                    numRows, std::vector<T>(static_cast<size_t>(
                                 std::min(elements, blockElements))));
                for (int64_t b = begin; b < end; ++b) {
                  const int64_t first = b * blockElements;
                  body(first, std::min(blockElements, elements - first), rows);
                }
              });
}

/// Calls \p body(row) for each row of an op along its last axis; \p body is
/// copied for each thread, so that it may own scratch.
template <typename T, typename Body>
void forRows(const OpCall<T> &call, int64_t numRows, int64_t workPerRow,
             const Body &body) {
  parallelFor(numRows, workPerRow, call.jobs, [&](int64_t begin, int64_t end) {
    Body own = body;
    for (int64_t row = begin; row < end; ++row)
      own(row);
  });
}

/// Rows along the last axis of \p shape.
inline int64_t numRowsOf(const Dims &shape) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    rows *= shape[d];
  return rows;
}

} // namespace tandem::refops

#endif // TANDEM_REFOPS_REFOP_H
