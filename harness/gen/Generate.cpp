//===- Generate.cpp - From choices to a case ------------------------------===//
#include "harness/gen/Generate.h"

#include "harness/gen/Dims.h"
#include "harness/gen/Foresight.h"
#include "harness/gen/Layouts.h"
#include "harness/gen/RecipeBuilder.h"
#include "harness/gen/Rules.h"
#include "harness/gen/Values.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::harness;

/// Elements of the largest operand: small cases find most bugs and make the
/// hundreds a second that the rare ones need.
static int64_t drawBudget(Choices &choices) {
  static constexpr int64_t budgets[] = {2048, 8192, 32768, 262144};
  return budgets[choices.pick({620, 300, 75, 5})];
}

/// A place in allOps().
static size_t drawChainOp(Choices &choices, const RecipeBuilder &builder) {
  std::vector<int> weights;
  for (const OpInfo &op : allOps()) {
    int weight = isFuzzable(op) && builder.canFollow(op) ? 4 : 0;
    // What only updates a state gives nothing to go on with.
    if (op.defined && signatureOf(op).results.empty())
      weight = 0;
    // An index ends the float part of a chain, and products are dear.
    if (op.code == Opcode::SAMPLE_ARGMAX || op.code == Opcode::GEMM_TILE ||
        op.code == Opcode::GEMV_TILE)
      weight /= 2;
    // It is what follows logits.
    if (op.code == Opcode::SAMPLE_ARGMAX && builder.endsInProduct())
      weight *= 8;
    weights.push_back(weight);
  }
  const size_t place = choices.pick(weights);
  return weights[place] ? place : opIndex(Opcode::COPY);
}

static Result<Recipe> drawChain(Choices &choices, DimBindings &dims,
                                std::vector<InputUse> &uses) {
  RecipeBuilder builder(choices, drawBudget(choices), /*isAlone=*/false);
  int numSteps = 0;
  bool more = true;
  Result<void> added;
  while (more && numSteps < maxChainSteps && added) {
    more = choices.span("step", [&] {
      // The wish for another step stands first in its span (and is not heard
      // in the first one), so that dropping the span drops the step and
      // nothing else.
      const bool wanted = choices.draw(
          2, [](Random &random) -> uint64_t { return random.below(10) < 7; });
      if (numSteps > 0 && !wanted)
        return false;
      added = builder.addStep(allOps()[drawChainOp(choices, builder)]);
      ++numSteps;
      return true;
    });
  }
  if (!added)
    return added.error();
  Result<Recipe> recipe = builder.finish();
  dims = builder.sizes();
  uses = builder.uses();
  return recipe;
}

static Result<Recipe> drawSingle(const OpInfo &op, Choices &choices,
                                 DimBindings &dims,
                                 std::vector<InputUse> &uses) {
  RecipeBuilder builder(choices, drawBudget(choices), /*isAlone=*/true);
  if (Result<void> added = builder.addStep(op); !added)
    return added.error();
  Result<Recipe> recipe = builder.finish();
  dims = builder.sizes();
  uses = builder.uses();
  return recipe;
}

/// Sizes for a given recipe's symbols, largest budget first come first served.
static void drawSizes(const Recipe &recipe, Choices &choices, DimBindings &dims,
                      std::vector<InputUse> &uses) {
  int64_t budget = drawBudget(choices);
  auto visit = [&](const TensorType &type) {
    for (size_t i = type.shape.size(); i-- > 0;) {
      const Dim &dim = type.shape[i];
      if (!dim.isSymbol() || dims.contains(dim.symbol()))
        continue;
      int64_t fixed = 1;
      for (const Dim &other : type.shape)
        if (!other.isSymbol())
          fixed *= std::max<int64_t>(other.size(), 1);
        else if (dims.contains(other.symbol()))
          fixed *= std::max<int64_t>(dims.find(other.symbol())->second, 1);
      dims[dim.symbol()] =
          drawDim(choices, std::max<int64_t>(budget / fixed, 2), true);
    }
  };
  for (const RecipeInput &input : recipe.inputs)
    visit(input.type);
  uses.resize(recipe.inputs.size());
  for (const Step &step : recipe.steps)
    for (size_t i = 0; i < step.args.size(); ++i) {
      const ValueRef &ref = step.args[i];
      if (ref.kind != ValueRef::Kind::Input)
        continue;
      InputUse &use = uses[static_cast<size_t>(ref.index)];
      use.isReduced |= isReduced(step.op, i);
      use.isInteger |= isZeroPoint(step.op, i);
      if (step.op == Opcode::EMBED && i == 0 &&
          step.args[1].kind == ValueRef::Kind::Input)
        use.limit = bindShape(
            recipe.inputs[static_cast<size_t>(step.args[1].index)].type.shape,
            dims)[0];
    }
}

static EnvironmentSpec drawEnvironment(Choices &choices) {
  static constexpr const char *approximations[] = {"nearest", "low", "high",
                                                   "random"};
  EnvironmentSpec around;
  around.scheduleSeed = choices.draw(1000);
  around.approximation = approximations[choices.pick({4, 2, 2, 2})];
  around.fill = choices.rarely(2) ? 0x55 : 0xAA;
  around.guardBands = choices.rarely(2);
  around.repeat = choices.rarely(5);
  return around;
}

static bool usesFloat8(const Recipe &recipe) {
  auto is8 = [](const TensorType &type) {
    return type.dtype == DType::F8E4M3 || type.dtype == DType::F8E5M2;
  };
  bool found = false;
  for (const RecipeInput &input : recipe.inputs)
    found |= is8(input.type);
  for (const Step &step : recipe.steps)
    for (const TensorType &type : step.results)
      found |= is8(type);
  return found;
}

/// What a directed edge case is allowed to be full of.
static std::string expectation(const CaseSpec &spec) {
  bool zeros = false;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const ValueSpec &values = spec.inputs[i].values;
    if (values.patch == "nan" || values.patch == "plus-inf" ||
        values.patch.starts_with("minus-inf") || values.kind == "codes" ||
        values.kind == "largest")
      return "nan";
    zeros |= isFloat(spec.recipe.inputs[i].type.dtype) &&
             (values.kind == "zero" || values.kind == "signed-zero" ||
              values.kind == "one-hot" || values.kind == "subnormal" ||
              values.patch == "zero-row");
  }
  return zeros ? "zero" : "";
}

/// Up to here a tile may hold an element several times: all its replicas read
/// what one of them overwrites. No value depends on the order, but it is a race
/// in PTX's model of memory, and the emulator says so. Reductions and products
/// hold replicas of any size.
static constexpr int64_t mostReplicated = 1024;

static bool isElementwise(Opcode op) {
  return op == Opcode::COPY || op == Opcode::ADD || op == Opcode::MUL ||
         op == Opcode::GELU || op == Opcode::SILU_MUL || op == Opcode::MAP ||
         op == Opcode::ALLREDUCE_SHARD;
}

/// Now and then an output is one of the inputs, where the call may say so:
/// SEMANTICS refuses an input that is still read elsewhere.
static void drawAlias(Choices &choices, CaseSpec &spec, size_t output) {
  const TensorDesc desc = spec.outputDesc(output);
  if (desc.rank() < 2 || desc.numElements() <= mostReplicated)
    return;
  for (const Step &step : spec.recipe.steps)
    if (!isElementwise(step.op))
      return;
  std::vector<OperandSpec> sharing;
  const OperandSpec apart = spec.outputs[output];
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (spec.recipe.inputs[i].isState ||
        !(spec.recipe.inputs[i].type == spec.recipe.outputs[output].type))
      continue;
    OperandSpec &shared = spec.outputs[output];
    shared.layout = spec.inputs[i].layout;
    shared.aliasOf = static_cast<int>(i);
    const PlacedOperands placed = placeOperands(spec);
    if (checkCall(spec.recipe, placed.inputs, placed.outputs))
      sharing.push_back(shared);
    spec.outputs[output] = apart;
  }
  const size_t which =
      choices.draw(sharing.size() + 1, [&](Random &random) -> uint64_t {
        return random.below(6) ? 0 : 1 + random.below(sharing.size());
      });
  if (which > 0)
    spec.outputs[output] = sharing[which - 1];
}

Result<CaseSpec> tandem::harness::generate(const std::string &scope,
                                           const std::optional<Recipe> &given,
                                           Choices &choices) {
  CaseSpec spec;
  std::vector<InputUse> uses;
  if (given) {
    spec.recipe = *given;
    choices.span("dims", [&] { drawSizes(*given, choices, spec.dims, uses); });
  } else {
    const OpInfo *op = scope == "chain" ? nullptr : findOpInfo(scope);
    if (scope != "chain" && (!op || !isFuzzable(*op)))
      return Error("generator: nothing to fuzz in '" + scope + "'");
    Result<Recipe> recipe = choices.span("recipe", [&] {
      return op ? drawSingle(*op, choices, spec.dims, uses)
                : drawChain(choices, spec.dims, uses);
    });
    if (!recipe)
      return recipe.error();
    spec.recipe = recipe.take();
  }
  // Products of small integers are exact in any order, so that their sums can
  // be held to equal bits.
  const Opcode first = spec.recipe.steps.front().op;
  const bool exact =
      spec.recipe.steps.size() == 1 &&
      (first == Opcode::GEMM_TILE || first == Opcode::GEMV_TILE) &&
      choices.rarely(4);
  for (size_t i = 0; i < spec.recipe.inputs.size(); ++i) {
    const TensorType &type = spec.recipe.inputs[i].type;
    const Dims shape = bindShape(type.shape, spec.dims);
    OperandSpec operand;
    choices.span("layout", [&] {
      operand.layout =
          uses[i].hasWideRows
              ? drawWideLayout(choices, shape,
                               16 / static_cast<int64_t>(dtypeSize(type.dtype)))
              : drawLayout(choices, shape, spec.recipe.inputs[i].isState);
    });
    choices.span("values", [&] {
      operand.values = drawValues(choices, type.dtype, uses[i].isReduced,
                                  uses[i].limit, exact || uses[i].isInteger);
      if (operand.values.patch == "outside" && !uses[i].mayBeOutside)
        operand.values.patch = "none";
    });
    spec.inputs.push_back(std::move(operand));
  }
  for (const RecipeOutput &output : spec.recipe.outputs) {
    OperandSpec operand;
    choices.span("layout", [&] {
      operand.layout =
          drawLayout(choices, bindShape(output.type.shape, spec.dims), true);
    });
    spec.outputs.push_back(std::move(operand));
  }
  for (size_t i = 0; i < spec.outputs.size(); ++i)
    choices.span("alias", [&] { drawAlias(choices, spec, i); });
  choices.span("environment", [&] {
    const bool wantsOlder = choices.rarely(4);
    spec.target = wantsOlder && !usesFloat8(spec.recipe) ? "sm_80" : "sm_90a";
    spec.fuse = spec.recipe.steps.size() == 1 || !choices.rarely(6);
    spec.environment = drawEnvironment(choices);
  });
  // Other tiles than the chosen ones may hold replicas of any size.
  const bool isInPlace =
      std::any_of(spec.outputs.begin(), spec.outputs.end(),
                  [](const OperandSpec &o) { return o.aliasOf >= 0; });
  if (!isInPlace)
    choices.span("set", [&] { spec.set = drawSchedule(choices, spec.recipe); });
  spec.expect = expectation(spec);
  return spec;
}

/// A case whose right outputs prove nothing is drawn again, at most so often.
static constexpr int maxDraws = 8;
/// One in so many of them is kept: rows of equal numbers and single columns
/// break kernels, too.
static constexpr uint64_t vacuousKept = 12;

Result<Case> tandem::harness::randomCase(const std::string &scope,
                                         const std::optional<Recipe> &recipe,
                                         uint64_t seed) {
  Random random(mix64(seed ^ 0x5bd1e995));
  for (int draw = 1;; ++draw) {
    Choices choices = Choices::random(seed);
    Result<CaseSpec> spec = generate(scope, recipe, choices);
    if (!spec)
      return spec.error();
    if (draw == maxDraws || foresee(*spec) == Vacuity::None ||
        random.below(vacuousKept) == 0)
      return Case{scope, choices.record(), recipe};
    seed = random.next();
  }
}

Result<CaseSpec> tandem::harness::specOf(const Case &theCase) {
  Choices choices = Choices::replay(theCase.choices);
  return generate(theCase.scope, theCase.recipe, choices);
}
