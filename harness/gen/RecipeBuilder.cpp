//===- RecipeBuilder.cpp - Well-typed steps from signatures ---------------===//
#include "harness/gen/RecipeBuilder.h"

#include "harness/gen/Dims.h"
#include "harness/gen/MapText.h"
#include "harness/gen/NamedDims.h"
#include "harness/gen/Rules.h"
#include "refops/core/OpRules.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <cmath>

using namespace tandem;
using namespace tandem::harness;

RecipeBuilder::Value RecipeBuilder::newInput(const std::string &name,
                                             TensorType type, InputUse use,
                                             bool isState) {
  auto isTaken = [&](const std::string &candidate) {
    return std::any_of(
        recipe.inputs.begin(), recipe.inputs.end(),
        [&](const RecipeInput &input) { return input.name == candidate; });
  };
  std::string unique = name;
  for (int i = 2; isTaken(unique); ++i)
    unique = name + std::to_string(i);
  recipe.inputs.push_back({unique, type, isState});
  inputUses.push_back(std::move(use));
  return {{ValueRef::Kind::Input, static_cast<int>(recipe.inputs.size()) - 1},
          std::move(type)};
}

DType RecipeBuilder::drawDType(std::string_view dtypeClass,
                               std::optional<DType> first) {
  static constexpr DType floats[] = {DType::F32, DType::BF16, DType::F16,
                                     DType::F8E4M3, DType::F8E5M2};
  static constexpr DType all[] = {DType::F32,    DType::BF16,   DType::F16,
                                  DType::F8E4M3, DType::F8E5M2, DType::I32,
                                  DType::I64,    DType::I8,     DType::U8};
  if (std::optional<DType> named = dtypeNamed(dtypeClass))
    return *named;
  if (dtypeClass == "s" && first)
    return *first;
  if (dtypeClass == "i")
    return choices.rarely(2) ? DType::I64 : DType::I32;
  if (dtypeClass == "any")
    return all[choices.pick({20, 20, 20, 6, 6, 6, 6, 6, 6})];
  // Mixed operand types are the exception.
  if (first && isFloat(*first) && !choices.rarely(6))
    return *first;
  return floats[choices.pick({30, 35, 25, 5, 5})];
}

bool RecipeBuilder::fits(const OpInfo &op, const Signature &signature,
                         const TensorType &type) {
  if (signature.operands.empty())
    return false;
  const SignatureOperand &first = signature.operands.front();
  if (first.dtypeClass == "f" ? !isFloat(type.dtype)
                              : first.dtypeClass != "any")
    return false;
  size_t named = 0;
  bool isOpen = false;
  for (const std::string &dim : first.dims) {
    const bool isLead = dim == ".." || dim == "~";
    isOpen |= isLead;
    named += !isLead;
    // An earlier step has no reason to give a dim of such a size.
    if (!isLead && !isIdentifier(dim))
      return false;
  }
  // Heads are no rows that a chain happens to have.
  if (!isOpen)
    return false;
  // A single number (an argmax of a vector) can only be copied on.
  return type.shape.size() >= named &&
         (!type.shape.empty() || op.code == Opcode::COPY);
}

bool RecipeBuilder::canFollow(const OpInfo &op) const {
  if (results.empty())
    return true;
  const TensorType &type = results.back().type;
  const std::vector<Signature> &all = signaturesOf(op);
  // An earlier step may have left dims empty that this op refuses.
  return std::any_of(all.begin(), all.end(),
                     [&](const Signature &s) { return fits(op, s, type); }) &&
         (!refusesEmpty(op.code, "") || sizeOf(type.shape) > 0);
}

bool RecipeBuilder::endsInProduct() const {
  if (recipe.steps.empty())
    return false;
  const Opcode op = recipe.steps.back().op;
  return op == Opcode::GEMM_TILE || op == Opcode::GEMV_TILE ||
         op == Opcode::LM_HEAD;
}

/// One of the op's alternatives, if it can take the newest value.
const Signature &RecipeBuilder::drawSignature(const OpInfo &op) {
  const std::vector<Signature> &all = signaturesOf(op);
  std::vector<int> weights;
  for (const Signature &signature : all)
    weights.push_back(results.empty() ||
                      fits(op, signature, results.back().type));
  size_t which = all.size() == 1 ? 0 : choices.pick(weights);
  // A replayed choice may name one that does not fit.
  if (!weights[which])
    which = static_cast<size_t>(std::find(weights.begin(), weights.end(), 1) -
                                weights.begin());
  return all[which];
}

static bool isPartialWrite(const Params &params) {
  return (params.getInt("flags", 0) & 2) != 0;
}

/// Positions: within a short context, a long one, or beyond every table.
static int64_t drawPositionLimit(Choices &choices) {
  static constexpr int64_t limits[] = {41, 2, 131072, (1 << 20) + 1, 1 << 15};
  return limits[choices.pick({4, 2, 3, 3, 1})];
}

void RecipeBuilder::moveParamsToDevice(const OpInfo &op, const Names &names,
                                       Step &step,
                                       std::vector<TensorType> &types) {
  for (const ParamInfo &info : op.params) {
    const std::string name(info.name);
    if (!info.mayBeOperand || !step.params.has(name))
      continue;
    choices.span("device", [&] {
      // 0 leaves it a number; then one for all, or one for each sequence.
      const size_t form = choices.pick({2, 1, names.contains("B") ? 2 : 0});
      // A replayed choice may ask for what is not there.
      if (form == 0 || (form == 2 && !names.contains("B")))
        return;
      TensorType type{DType::I32, {}};
      if (form == 2)
        type.shape.push_back(names.at("B"));
      // A start that only the device knows leaves the length open.
      if (name == "kv_start" && step.params.has("kv_len"))
        return;
      const int64_t slots = names.contains("S") ? sizeOf(names.at("S")) : 1;
      InputUse use;
      use.limit = std::max<int64_t>(slots, 1);
      // Windows that end inside the cache whatever the start is.
      if (name == "kv_len")
        use.limit =
            1 + std::max<int64_t>(0, slots - step.params.getInt("kv_start", 0));
      const Value value = newInput(name, type, use);
      step.params.values[name] =
          OperandParam{static_cast<int64_t>(step.args.size())};
      step.args.push_back(value.ref);
      types.push_back(type);
    });
  }
}

Result<void> RecipeBuilder::addStep(const OpInfo &op) {
  const bool follows = !results.empty();
  if (follows && !canFollow(op))
    return Error(std::string(op.mnemonic) + ": cannot follow " +
                 results.back().type.describe());
  if (op.code == Opcode::GEMM_TILE && !follows && choices.rarely(4))
    return addWideProduct(op);
  const Signature &signature = drawSignature(op);
  Step step;
  step.op = op.code;
  std::vector<TensorType> types;
  Names names;
  std::optional<std::vector<Dim>> lead;
  if (follows) {
    const std::vector<Dim> &shape = results.back().type.shape;
    const auto &wanted = signature.operands.front().dims;
    size_t end = shape.size();
    for (size_t i = wanted.size(); i-- > 0;) {
      if (wanted[i] == ".." || wanted[i] == "~")
        lead.emplace(shape.begin(),
                     shape.begin() + static_cast<std::ptrdiff_t>(end));
      else
        names.insert_or_assign(wanted[i], shape[--end]);
    }
  }
  choices.span("dims", [&] { bindDims(op, signature, names, lead); });

  std::map<std::string, int64_t> sizes;
  for (const auto &[name, dim] : names)
    sizes[name] = sizeOf(dim);
  size_t rank = 0;
  if (!signature.operands.empty())
    for (const std::string &dim : signature.operands.front().dims)
      rank += dim == ".." || dim == "~" ? lead->size() : 1;
  step.params = choices.span(
      "params", [&] { return drawParams(choices, op, sizes, rank, isAlone); });

  std::optional<DType> firstType;
  auto shapeOf = [&](const SignatureOperand &operand) {
    std::vector<Dim> shape;
    for (const std::string &dim : operand.dims) {
      if (dim == "..")
        shape.insert(shape.end(), lead->begin(), lead->end());
      else if (dim == "~") {
        const std::vector<Dim> part =
            types.empty() ? *lead : broadcastPart(*lead);
        shape.insert(shape.end(), part.begin(), part.end());
      } else
        shape.push_back(dimOf(dim, names));
    }
    const ParamInfo *layout = op.param("weight_layout");
    if (operand.name == "W" && layout &&
        step.params.getString("weight_layout",
                              std::string(layout->defaultValue)) == "kn")
      std::reverse(shape.begin(), shape.end());
    return shape;
  };
  for (size_t i = 0; i < signature.operands.size(); ++i) {
    const SignatureOperand &operand = signature.operands[i];
    choices.span("operand", [&] {
      size_t copies = 1;
      if (operand.count == SignatureOperand::Count::Optional)
        copies = choices.rarely(2) ? 1 : 0;
      else if (op.code == Opcode::MAP)
        copies = 1 + choices.pick({3, 4, 3, 2});
      else if (operand.count == SignatureOperand::Count::OneOrMore)
        copies = 1 + choices.pick({1, 4, 3, 2, 1, 1, 1, 1});
      for (size_t copy = 0; copy < copies; ++copy) {
        if (types.empty() && follows) {
          step.args.push_back(results.back().ref);
          types.push_back(results.back().type);
        } else {
          TensorType type{drawDType(operand.dtypeClass, firstType),
                          shapeOf(operand)};
          InputUse use;
          use.isReduced = isReduced(op.code, i);
          use.isInteger = isZeroPoint(op.code, i);
          if (operand.name == "positions") {
            use.limit = drawPositionLimit(choices);
            use.mayBeOutside = false;
          } else if (operand.dtypeClass == "i" &&
                     i + 1 < signature.operands.size()) {
            use.limitDim = signature.operands[i + 1].dims.front();
            use.limit = sizes[use.limitDim];
          }
          // An older value of the same type may serve as well as a new input.
          const Value *older = nullptr;
          if (use.limitDim.empty() && use.limit == 0 && !use.isInteger &&
              !operand.isState)
            for (const Value &value : results)
              if (value.type == type)
                older = &value;
          Value value =
              older && choices.rarely(3)
                  ? *older
                  : newInput(operand.name, type, use, operand.isState);
          step.args.push_back(value.ref);
          types.push_back(value.type);
        }
        if (!firstType)
          firstType = types.back().dtype;
      }
    });
  }
  moveParamsToDevice(op, names, step, types);
  if (op.code == Opcode::MAP)
    choices.span("expr", [&] {
      step.params.values["expr"] = drawMapText(choices, step.args.size());
    });
  std::optional<DType> outDtype;
  choices.span("out", [&] {
    if (signature.results.empty())
      return;
    const std::string &kind = signature.results.front().dtypeClass;
    if (kind == "any") {
      const DType drawn = drawDType("any", std::nullopt);
      outDtype = choices.rarely(2) ? drawn : types.front().dtype;
    } else if (kind == "f" && choices.rarely(4) &&
               !isPartialWrite(step.params)) {
      outDtype = drawDType("f", std::nullopt);
    }
  });
  return push(op, std::move(step), types, outDtype);
}

/// A multiple of 8 of at least 32 and at most 304: next to edges of tiles (64,
/// 128, 256) more often than not.
static int64_t drawWideSize(Choices &choices) {
  static constexpr int64_t edges[] = {32, 56, 64, 72, 120, 128, 136, 200, 264};
  return choices.rarely(4) ? 8 * (4 + static_cast<int64_t>(choices.draw(35)))
                           : edges[choices.draw(std::size(edges))];
}

Result<void> RecipeBuilder::addWideProduct(const OpInfo &op) {
  Step step;
  step.op = op.code;
  std::vector<TensorType> types;
  choices.span("dims", [&] {
    const Dim n = named("N", drawWideSize(choices));
    const Dim k = named("K", drawWideSize(choices));
    static constexpr int64_t rows[] = {1,  2,  8,   15,  16,  17,  63, 64,
                                       65, 33, 127, 128, 129, 200, 257};
    const bool isAnything = choices.rarely(4);
    const Dim m =
        named("M", isAnything ? 1 + static_cast<int64_t>(choices.draw(300))
                              : rows[choices.draw(std::size(rows))]);
    const DType dtype = choices.rarely(2) ? DType::F16 : DType::BF16;
    types = {{dtype, {m, k}}, {dtype, {n, k}}};
    if (choices.rarely(3))
      types.push_back({dtype, {n}});
    if (choices.rarely(4))
      step.params.values["invariant"] = true;
  });
  static constexpr const char *names[] = {"x", "W", "bias"};
  for (size_t i = 0; i < types.size(); ++i) {
    InputUse use;
    use.isReduced = isReduced(op.code, i);
    use.hasWideRows = true;
    step.args.push_back(newInput(names[i], types[i], use).ref);
  }
  std::optional<DType> outDtype;
  if (choices.rarely(4))
    outDtype = drawDType("f", std::nullopt);
  return push(op, std::move(step), types, outDtype);
}

Result<void> RecipeBuilder::push(const OpInfo &op, Step step,
                                 const std::vector<TensorType> &types,
                                 std::optional<DType> outDtype) {
  Result<std::vector<TensorType>> inferred =
      inferResults(op, types, step.params, std::nullopt, outDtype);
  if (!inferred)
    return inferred.error();
  step.results = inferred.take();
  int scratch = static_cast<int>(results.size());
  for (const TensorType &type : step.results) {
    step.outs.push_back({ValueRef::Kind::Scratch, scratch});
    results.push_back({step.outs.back(), type});
    ++scratch;
  }
  recipe.steps.push_back(std::move(step));
  return {};
}

Result<Recipe> RecipeBuilder::finish() {
  // A scratch value becomes an output by a COPY that the compiler should fuse.
  if (recipe.steps.size() == 1 && recipe.steps[0].results.empty()) {
    recipe.name = opInfo(recipe.steps[0].op).mnemonic;
    return checkRecipe(recipe, "generated");
  }
  if (recipe.steps.size() > 1 && recipe.steps.size() < 4 && choices.rarely(4)) {
    const Value &value = results[choices.draw(results.size() - 1)];
    Step copy;
    copy.op = Opcode::COPY;
    copy.args = {value.ref};
    copy.outs = {{ValueRef::Kind::Final, 1}};
    copy.results = {value.type};
    recipe.steps.insert(recipe.steps.end() - 1, std::move(copy));
    // The copied value is made before the last step in any case.
    recipe.outputs.push_back({"y", results.back().type});
    recipe.outputs.push_back({"z", value.type});
  } else {
    recipe.outputs.push_back({"y", results.back().type});
  }
  recipe.steps.back().outs = {{ValueRef::Kind::Final, 0}};
  recipe.name = recipe.steps.size() == 1
                    ? std::string(opInfo(recipe.steps[0].op).mnemonic)
                    : "chain";
  return checkRecipe(recipe, "generated");
}
