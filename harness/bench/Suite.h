//===- Suite.h - Rows to measure, as JSON -----------------------*- C++ -*-===//
//
// A suite names recipes and lists rows, each a recipe with sizes:
//
//   {"suite": "rowwise", "title": "...",
//    "recipes": {"softmax": {a recipe as everywhere else}, ...},
//    "rows": [{"name": "softmax 16384x8192", "recipe": "softmax",
//              "dims": {"M": 16384, "K": 8192}, "ceiling": "copy",
//              "bytes": "4*M*K", "flops": "0", "peers": ["torch", "compile"],
//              "values": {"ids": {"kind": "uniform", "below": 128256}},
//              "set": [{"warps": "8"}],
//              "reach": {"share": 0.97, "ratio": 1.0}}]}
//
// `bytes` and `flops` are expressions over the dims; without `bytes` every
// operand counts once and a state twice. `ceiling`: copy or read of the same
// bytes, or `flops`, which has no kernel. `set` lists schedules to measure
// beside the compiler's own; the best counts. A row that measures the host
// has `"kind": "launch"` or `"compile"`.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_BENCH_SUITE_H
#define TANDEM_HARNESS_BENCH_SUITE_H

#include "harness/case/CaseSpec.h"

namespace tandem::bench {

enum class RowKind : uint8_t { Kernel, Launch, Compile };
enum class Ceiling : uint8_t { Copy, Read, Flops };
std::string_view ceilingName(Ceiling ceiling);

struct Row {
  std::string name;
  RowKind kind = RowKind::Kernel;
  Recipe recipe;
  DimBindings dims;
  Ceiling ceiling = Ceiling::Copy;
  /// Bytes that a launch must move, and floating-point operations it must do.
  int64_t bytes = 0, flops = 0;
  std::vector<std::string> peers;
  /// One an input of the recipe.
  std::vector<harness::ValueSpec> values;
  /// Schedules beside the compiler's own.
  std::vector<std::map<std::string, std::string>> sets;
  /// What is to be reached: share of the ceiling, ratio to the best peer; 0
  /// where nothing is asked.
  double reachShare = 0, reachRatio = 0;
};

struct Suite {
  std::string name, title;
  std::vector<Row> rows;
};

/// The peers that there are: cublas, torch, compile, triton.
std::span<const std::string_view> peerNames();

/// Reads a suite; fails with all errors, each with its place.
Result<Suite> readSuite(std::string_view text, std::string_view file);

/// Types and shapes of the row's inputs and outputs, contiguous.
std::vector<TensorDesc> inputDescs(const Row &row);
std::vector<TensorDesc> outputDescs(const Row &row);

} // namespace tandem::bench

#endif // TANDEM_HARNESS_BENCH_SUITE_H
