//===- Graph.cpp - A recipe in single-assignment form ---------------------===//
#include "codegen/fuse/Graph.h"

#include <map>
#include <numeric>

using namespace tandem;
using namespace tandem::codegen;

bool codegen::updatesOperand(const Step &step, size_t arg) {
  // All alternatives of a signature have the same operands in the same order.
  const std::vector<SignatureOperand> &operands =
      signatureOf(opInfo(step.op)).operands;
  return arg < operands.size() && operands[arg].isState;
}

Graph codegen::buildGraph(const Recipe &recipe) {
  Graph graph;
  for (size_t i = 0; i < recipe.inputs.size(); ++i) {
    GraphValue value;
    value.type = recipe.inputs[i].type;
    value.input = static_cast<int>(i);
    graph.values.push_back(std::move(value));
  }
  std::map<int, int> slots;
  std::vector<int> inputs(recipe.inputs.size());
  std::iota(inputs.begin(), inputs.end(), 0);
  for (size_t s = 0; s < recipe.steps.size(); ++s) {
    const Step &step = recipe.steps[s];
    std::vector<int> args, results, updates;
    for (const ValueRef &arg : step.args) {
      int value = arg.kind == ValueRef::Kind::Input ? inputs[arg.index]
                                                    : slots.at(arg.index);
      args.push_back(value);
      std::vector<int> &users = graph.values[value].users;
      if (users.empty() || users.back() != static_cast<int>(s))
        users.push_back(static_cast<int>(s));
    }
    for (size_t a = 0; a < step.args.size(); ++a) {
      updates.push_back(-1);
      if (!updatesOperand(step, a))
        continue;
      GraphValue value;
      value.type = graph.values[args[a]].type;
      value.producer = static_cast<int>(s);
      value.input = step.args[a].index;
      updates[a] = inputs[step.args[a].index] =
          static_cast<int>(graph.values.size());
      graph.values.push_back(std::move(value));
    }
    for (size_t r = 0; r < step.outs.size(); ++r) {
      GraphValue value;
      value.type = step.results[r];
      value.producer = static_cast<int>(s);
      if (step.outs[r].kind == ValueRef::Kind::Final)
        value.output = step.outs[r].index;
      else
        slots[step.outs[r].index] = static_cast<int>(graph.values.size());
      results.push_back(static_cast<int>(graph.values.size()));
      graph.values.push_back(std::move(value));
    }
    graph.args.push_back(std::move(args));
    graph.results.push_back(std::move(results));
    graph.updates.push_back(std::move(updates));
  }
  return graph;
}
