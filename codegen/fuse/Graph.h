//===- Graph.h - A recipe in single-assignment form -------------*- C++ -*-===//
//
// Scratch slots may be rewritten, so a slot number does not name a value. Here
// every input and every result of a step is a value with one producer. A step
// that updates a state makes a new value in the memory of the old one: steps
// before it read the old value, steps after it the new one.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_FUSE_GRAPH_H
#define TANDEM_CODEGEN_FUSE_GRAPH_H

#include "refops/core/Recipe.h"

#include <optional>
#include <string>
#include <vector>

namespace tandem::codegen {

/// The frequencies of a rope that has no operand for them: theta^(-i/half) for
/// the half of `turned`, which the host computes for each call.
struct FrequencyTable {
  float theta = 0;
  Dim turned = 0;
  bool operator==(const FrequencyTable &) const = default;
};

struct GraphValue {
  TensorType type;
  /// The step that computes it, or -1 for an input.
  int producer = -1;
  /// Index of the recipe's input in whose memory it lies, or of the final
  /// output that it is, or -1.
  int input = -1;
  int output = -1;
  std::optional<FrequencyTable> table;
  /// Steps that read it, ascending.
  std::vector<int> users;

  /// A state after a step that updates it.
  bool isUpdate() const { return input >= 0 && producer >= 0; }
  /// Whether the caller sees it.
  bool isFinal() const { return output >= 0 || isUpdate(); }
};

struct Graph {
  std::vector<GraphValue> values;
  /// Value numbers of each step's operands and results.
  std::vector<std::vector<int>> args, results;
  /// For each operand of each step the value that takes its place in memory, or
  /// -1 where the step leaves the operand as it is.
  std::vector<std::vector<int>> updates;
};

Graph buildGraph(const Recipe &recipe);

/// Whether operand \p arg of the step is a state that it updates.
bool updatesOperand(const Step &step, size_t arg);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_FUSE_GRAPH_H
