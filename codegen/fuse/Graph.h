//===- Graph.h - A recipe in single-assignment form -------------*- C++ -*-===//
//
// Scratch slots may be rewritten, so a slot number does not name a value. Here
// every input and every result of a step is a value with one producer.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_FUSE_GRAPH_H
#define TANDEM_CODEGEN_FUSE_GRAPH_H

#include "refops/core/Recipe.h"

#include <string>
#include <vector>

namespace tandem::codegen {

struct GraphValue {
  TensorType type;
  /// The step that computes it, or -1 for an input.
  int producer = -1;
  /// Index of the recipe's input or final output, or -1.
  int input = -1;
  int output = -1;
  /// Steps that read it, ascending.
  std::vector<int> users;
};

struct Graph {
  std::vector<GraphValue> values;
  /// Value numbers of each step's operands and results.
  std::vector<std::vector<int>> args, results;
};

Graph buildGraph(const Recipe &recipe);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_FUSE_GRAPH_H
