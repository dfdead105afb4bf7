//===- Runner.cpp - Running one case --------------------------------------===//
#include "harness/run/Runner.h"

#include "harness/compare/Compare.h"
#include "harness/compare/RulesOf.h"
#include "harness/gen/Values.h"
#include "harness/run/Execution.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::harness;

double Outcome::ratio() const {
  double largest = 0;
  for (const Receipt &receipt : receipts)
    largest = std::max(largest, receipt.ratio);
  return largest;
}

namespace {
class CaseRun {
public:
  CaseRun(const CaseSpec &spec, const Engine &engine, Device &device,
          const RunOptions &options)
      : spec(spec), engine(engine), device(device), options(options),
        written(writtenValues(spec.recipe)) {}

  Outcome run();

private:
  bool fail(std::string stage, std::string kind, std::string message);
  bool fail(Failure failure);
  void skip(std::string reason);
  bool checkIndexErrors(const LaunchReport &report);
  bool compareWithReference(std::vector<HostTensor> inputs,
                            const Execution &execution);
  bool compareRepeat(const std::vector<HostTensor> &inputs,
                     const Execution &first);
  bool compareUnfused(const std::vector<HostTensor> &inputs,
                      const Execution &fused);
  bool compareOneRow(const Execution &all);
  std::string firstDifference(const Execution &a, const Execution &b) const;
  void judge();

  const CaseSpec &spec;
  const Engine &engine;
  Device &device;
  const RunOptions &options;
  /// What the comparisons look at, in the order of Execution::outputs.
  const std::vector<RecipeOutput> written;
  Outcome outcome;
  /// Indices outside their tables, in order of (step, row).
  std::vector<refops::IndexFault> faults;
  /// For each output the elements without a verdict (Expected::unchecked).
  std::vector<std::vector<uint8_t>> unchecked;
  std::vector<std::string> doubts;
};
} // namespace

bool CaseRun::fail(Failure failure) {
  for (const Step &step : spec.recipe.steps)
    failure.what.ops.insert(std::string(opInfo(step.op).mnemonic));
  outcome.verdict = Verdict::Failed;
  outcome.failure = std::move(failure);
  return false;
}

bool CaseRun::fail(std::string stage, std::string kind, std::string message) {
  return fail(
      Failure{{std::move(stage), std::move(kind), {}}, std::move(message), ""});
}

void CaseRun::skip(std::string reason) {
  outcome.verdict = Verdict::Skipped;
  outcome.reason = std::move(reason);
}

static std::string rowText(int64_t row, int step) {
  return "row " + std::to_string(row) + " of step " + std::to_string(step);
}

/// The device keeps the first fault in order of (step, row).
bool CaseRun::checkIndexErrors(const LaunchReport &report) {
  const std::vector<IndexError> &got = report.indexErrors;
  if (faults.empty())
    return got.empty() ||
           fail("result", "index-error",
                rowText(got.front().row, got.front().step) +
                    " is reported as an index error, but all indices are "
                    "valid");
  const refops::IndexFault &first = faults.front();
  if (got.empty())
    return fail("result", "index-error",
                "no index error is reported, expected one for " +
                    rowText(first.row, first.step));
  if (got.front().row != first.row || got.front().step != first.step)
    return fail("result", "index-error",
                "the index error names " +
                    rowText(got.front().row, got.front().step) + ", expected " +
                    rowText(first.row, first.step));
  return true;
}

/// Whether every sum in the recipe is exact in f32, so that any order of
/// additions gives the same bits: one matrix product of small integers, K below
/// 2^16 (products up to 64, so sums up to 2^22), not in float8.
static bool isExactCase(const CaseSpec &spec) {
  const Step &step = spec.recipe.steps.front();
  if (spec.recipe.steps.size() != 1 ||
      (step.op != Opcode::GEMM_TILE && step.op != Opcode::GEMV_TILE))
    return false;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (!isExact(spec.inputs[i].values) ||
        dtypeSize(spec.recipe.inputs[i].type.dtype) < 2)
      return false;
    const TensorDesc desc = spec.inputDesc(i);
    if (i == 0 && desc.rank() && desc.shape.back() >= (1 << 16))
      return false;
  }
  return true;
}

bool CaseRun::compareWithReference(std::vector<HostTensor> inputs,
                                   const Execution &execution) {
  std::vector<View> views;
  for (HostTensor &input : inputs)
    views.push_back(input.view());
  Result<std::vector<refops::Expected>> expected = engine.evaluate(
      spec.recipe, views, engine.contractOf(*execution.program), &faults);
  if (!expected)
    return fail("reference", "error", expected.error().text());
  if (expected->size() != execution.outputs.size())
    return fail("reference", "error",
                "the reference gives " + std::to_string(expected->size()) +
                    " outputs, expected " +
                    std::to_string(execution.outputs.size()));
  if (!checkIndexErrors(execution.report))
    return false;
  outcome.wasExact = options.exact && isExactCase(spec);
  for (size_t i = 0; i < expected->size(); ++i) {
    refops::Expected &output = (*expected)[i];
    if (outcome.wasExact)
      std::fill(output.error.begin(), output.error.end(), 0.0);
    Result<CompareRules> rules =
        rulesOf(spec.recipe, views, output.desc, engine.runReference);
    if (!rules)
      return fail("reference", "error", rules.error().text());
    Comparison comparison =
        compareOutput(written[i].name, output, execution.outputs[i],
                      execution.untouched[i], *rules);
    outcome.receipts.push_back(comparison.receipt);
    unchecked.push_back(output.unchecked);
    if (comparison.failure) {
      comparison.failure->message +=
          ", " + std::to_string(comparison.numWrong) + " of " +
          std::to_string(comparison.receipt.elements) + " elements are wrong";
      return fail(std::move(*comparison.failure));
    }
    if (std::optional<std::string> why = vacuity(comparison, spec.expect))
      doubts.push_back(written[i].name + ": " + *why);
  }
  return true;
}

/// The first element that differs, as `y: element 3 differs`, or nothing. With
/// a bad index one program skips what another computes from the row that stays
/// untouched: elements without a verdict do not count then.
std::string CaseRun::firstDifference(const Execution &a,
                                     const Execution &b) const {
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i] == b.outputs[i])
      continue;
    const size_t size = dtypeSize(written[i].type.dtype);
    for (size_t e = 0; e * size < a.outputs[i].size(); ++e)
      if ((faults.empty() || e >= unchecked[i].size() || !unchecked[i][e]) &&
          std::memcmp(a.outputs[i].data() + e * size,
                      b.outputs[i].data() + e * size, size) != 0)
        return written[i].name + ": element " + std::to_string(e) + " differs";
  }
  return "";
}

bool CaseRun::compareRepeat(const std::vector<HostTensor> &inputs,
                            const Execution &first) {
  // The seed also picks members of approximate ops' envelopes.
  const bool isRandom = spec.environment.approximation == "random";
  const Execution again = execute(spec, inputs, engine, device,
                                  static_cast<uint8_t>(~spec.environment.fill),
                                  spec.environment.scheduleSeed + !isRandom);
  if (again.failure)
    return fail(*again.failure);
  outcome.repeated = true;
  if (!checkIndexErrors(again.report))
    return false;
  // Elements that the op leaves alone show the fill, which differs.
  for (size_t i = 0; i < first.outputs.size(); ++i) {
    const size_t size = dtypeSize(written[i].type.dtype);
    for (size_t e = 0; e * size < first.outputs[i].size(); ++e) {
      const bool bothUntouched = e < first.untouched[i].size() &&
                                 first.untouched[i][e] && again.untouched[i][e];
      if (!bothUntouched &&
          !std::equal(first.outputs[i].begin() + std::ptrdiff_t(e * size),
                      first.outputs[i].begin() + std::ptrdiff_t((e + 1) * size),
                      again.outputs[i].begin() + std::ptrdiff_t(e * size)))
        return fail("consistency", "repeat",
                    written[i].name + ": element " + std::to_string(e) +
                        " differs between two launches with other fills and "
                        "schedules");
    }
  }
  return true;
}

bool CaseRun::compareUnfused(const std::vector<HostTensor> &inputs,
                             const Execution &fused) {
  CaseSpec apart = spec;
  apart.fuse = false;
  const Execution unfused =
      execute(apart, inputs, engine, device, spec.environment.fill,
              spec.environment.scheduleSeed);
  if (unfused.failure)
    return fail(*unfused.failure);
  if (!(engine.contractOf(*fused.program) ==
        engine.contractOf(*unfused.program)))
    return true;
  outcome.comparedUnfused = true;
  const std::string difference = firstDifference(fused, unfused);
  return difference.empty() ||
         fail("consistency", "fused",
              difference + " between the fused kernel and its steps, though "
                           "their contracts are equal");
}

/// The dim that counts rows, when every step treats rows alike: a symbol that
/// is the outermost dim of the first input and of the output, of rank 2.
static std::string rowSymbol(const CaseSpec &spec) {
  const Recipe &recipe = spec.recipe;
  if (writtenValues(recipe).size() != 1 || recipe.outputs.empty() ||
      recipe.inputs.empty())
    return "";
  const auto &shape = recipe.outputs[0].type.shape;
  // A vector's only dim may be what a step reduces along.
  if (shape.size() < 2 || !shape[0].isSymbol())
    return "";
  const std::string &rows = shape[0].symbol();
  for (const Step &step : recipe.steps) {
    if (step.op == Opcode::SOFTMAX && step.params.has("dim"))
      return "";
    // A product's tiles are chosen by its number of rows unless it promises
    // not to.
    if (step.op == Opcode::GEMM_TILE &&
        !step.params.getBool("invariant", false))
      return "";
  }
  for (size_t i = 0; i < recipe.inputs.size(); ++i) {
    const auto &dims = recipe.inputs[i].type.shape;
    // A vector's only dim counts columns.
    for (size_t d = dims.size() == 1 ? 0 : 1; d < dims.size(); ++d)
      if (dims[d].isSymbol() && dims[d].symbol() == rows)
        return "";
    if (spec.inputs[i].values.patch != "none")
      return "";
  }
  for (size_t d = 1; d < shape.size(); ++d)
    if (shape[d].isSymbol() && shape[d].symbol() == rows)
      return "";
  return rows;
}

bool CaseRun::compareOneRow(const Execution &all) {
  const std::string symbol = rowSymbol(spec);
  if (symbol.empty() || spec.dims.find(symbol)->second < 2)
    return true;
  CaseSpec one = spec;
  one.dims[symbol] = 1;
  // What shares memory is another question, and a tile that holds the one row
  // several times reads it where another thread writes.
  for (OperandSpec &output : one.outputs)
    output.aliasOf = -1;
  // Values are functions of the position, so the first row stays what it is.
  Result<std::vector<HostTensor>> inputs = makeInputs(one);
  if (!inputs)
    return fail("generator", "values", inputs.error().text());
  const Execution single =
      execute(one, *inputs, engine, device, spec.environment.fill,
              spec.environment.scheduleSeed);
  if (single.failure)
    return fail(*single.failure);
  if (!single.skipped.empty() ||
      !(engine.contractOf(*all.program) == engine.contractOf(*single.program)))
    return true;
  outcome.comparedRows = true;
  return std::equal(single.outputs[0].begin(), single.outputs[0].end(),
                    all.outputs[0].begin()) ||
         fail("consistency", "rows",
              spec.recipe.outputs[0].name +
                  ": the first row changes with the number of rows (" +
                  std::to_string(spec.dims.find(symbol)->second) +
                  " against 1), though the contracts are equal");
}

void CaseRun::judge() {
  int64_t elements = 0, unchecked = 0;
  for (const Receipt &receipt : outcome.receipts) {
    elements += receipt.elements;
    unchecked += receipt.unchecked;
  }
  if (2 * unchecked > elements) {
    outcome.verdict = Verdict::Unchecked;
    outcome.reason = std::to_string(unchecked) + " of " +
                     std::to_string(elements) +
                     " elements may overflow in between";
  } else if (!doubts.empty()) {
    outcome.verdict = Verdict::Mistrusted;
    outcome.reason = doubts.front();
  }
}

Outcome CaseRun::run() {
  outcome.elements = numElements(spec);
  outcome.multiplyAdds = numMultiplyAdds(spec);
  if (!device.supports(spec.target)) {
    skip("the device does not run " + spec.target);
    return outcome;
  }
  Result<std::vector<HostTensor>> inputs = makeInputs(spec);
  if (!inputs) {
    fail("generator", "values", inputs.error().text());
    return outcome;
  }
  const Execution execution =
      execute(spec, *inputs, engine, device, spec.environment.fill,
              spec.environment.scheduleSeed);
  if (!execution.skipped.empty()) {
    skip(execution.skipped);
    return outcome;
  }
  outcome.threadInstructions = execution.report.threadInstructions;
  if (execution.program)
    for (const ProgramLaunch &launch : execution.program->launches)
      outcome.families.push_back(launch.family);
  if (execution.failure) {
    fail(*execution.failure);
    return outcome;
  }
  if (compareWithReference(*inputs, execution) &&
      (!spec.environment.repeat || compareRepeat(*inputs, execution)) &&
      (!options.self || !spec.fuse || spec.recipe.steps.size() < 2 ||
       compareUnfused(*inputs, execution)) &&
      (!options.self || !faults.empty() || compareOneRow(execution)))
    judge();
  return outcome;
}

Outcome tandem::harness::runCase(const CaseSpec &spec, const Engine &engine,
                                 Device &device, const RunOptions &options) {
  return CaseRun(spec, engine, device, options).run();
}

std::string tandem::harness::blameCase(const CaseSpec &spec,
                                       const Outcome &outcome,
                                       const Engine &engine, Device &device) {
  const std::string &stage = outcome.failure.what.stage;
  if (stage == "compile")
    return "compiler: no kernel came out";
  if (stage == "contract")
    return "compiler: the contract is not licensed";
  if (!engine.makeTileDevice)
    return "cannot tell: no tile device";
  RunOptions plain;
  plain.self = false;
  CaseSpec once = spec;
  once.environment.repeat = false;
  Result<std::unique_ptr<Device>> tile = engine.makeTileDevice();
  if (!tile)
    return "cannot tell: " + tile.error().text();
  const Outcome onTile = runCase(once, engine, **tile, plain);
  if (onTile.verdict == Verdict::Skipped)
    return "cannot tell: the tile device skipped it: " + onTile.reason;
  if (onTile.failed()) {
    if (onTile.failure.what.stage == "result" ||
        onTile.failure.what.stage == "guard")
      return "insn -> tile";
    return "cannot tell: on the tile device " + onTile.failure.message;
  }
  if (device.kind() != "cuda" || !engine.makeEmulator)
    return "tile -> PTX";
  Result<std::unique_ptr<Device>> emulator = engine.makeEmulator();
  if (!emulator)
    return "cannot tell: " + emulator.error().text();
  const Outcome emulated = runCase(once, engine, **emulator, plain);
  return emulated.failed() ? "tile -> PTX" : "ptxas or driver";
}
