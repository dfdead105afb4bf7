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

/// A rope without frequencies gets them as one more operand.
static std::optional<FrequencyTable>
missingTable(const Step &step, const Graph &graph,
             const std::vector<int> &args) {
  if (step.op != Opcode::ROPE || args.size() != 2)
    return std::nullopt;
  FrequencyTable table;
  table.theta = step.params.getFloat("theta", 10000);
  table.turned = step.params.has("rotary_dim")
                     ? Dim(step.params.getInt("rotary_dim", 0))
                     : graph.values[args[0]].type.shape.back();
  return table;
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
    if (std::optional<FrequencyTable> table = missingTable(step, graph, args)) {
      updates.push_back(-1);
      args.push_back(static_cast<int>(graph.values.size()));
      GraphValue value;
      value.type = {DType::F32, {table->turned}};
      value.table = std::move(table);
      value.users = {static_cast<int>(s)};
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
