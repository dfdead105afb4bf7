//===- CheckCandidate.cpp - Whether a schedule may win --------------------===//
#include "harness/tune/CheckCandidate.h"

#include <algorithm>
#include <array>

using namespace tandem;
using namespace tandem::tune;
using harness::CaseSpec;

using Parameters = std::map<std::string, std::string>;

static CaseSpec specFor(const bench::Row &row, const DimBindings &dims,
                        const Parameters &set, const std::string &target) {
  CaseSpec spec;
  spec.recipe = row.recipe;
  spec.dims = dims;
  spec.set = set;
  spec.target = target;
  spec.inputs.resize(row.recipe.inputs.size());
  spec.outputs.resize(row.recipe.outputs.size());
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    harness::ValueSpec &values = spec.inputs[i].values;
    values = row.values[i];
    // An index stays inside a table that has become smaller with its size.
    for (const auto &[name, size] : row.dims)
      if (values.limit > 0 && size == values.limit)
        values.limit = dims.at(name);
  }
  return spec;
}

/// Sizes are made smaller still where a case has more elements.
static constexpr int64_t mostElements = 1 << 22;

/// The PTX of all kernels; empty where there are none.
static std::string ptxOf(const CaseSpec &spec, const harness::Engine &engine) {
  CompileOptions options;
  options.target = spec.target;
  options.set = spec.set;
  options.useTuned = false;
  const harness::PlacedOperands placed = harness::placeOperands(spec);
  const Result<std::shared_ptr<const Program>> program =
      engine.compile(spec.recipe, placed.inputs, placed.outputs, options);
  std::string text;
  if (program)
    for (const ProgramLaunch &launch : (*program)->launches)
      text += launch.kernel->ptx;
  return text;
}

DimBindings tandem::tune::smallDims(const bench::Row &row,
                                    const Parameters &set,
                                    const std::string &target,
                                    const harness::Engine &engine) {
  const std::string wanted = ptxOf(specFor(row, row.dims, set, target), engine);
  DimBindings dims = row.dims;
  const auto shrink = [&](std::initializer_list<int64_t> bases) {
    for (auto &[name, size] : dims) {
      const int64_t original = size;
      // What the size is modulo a tile stays where it can; a few of the next
      // sizes are tried before the whole.
      for (int64_t base : bases) {
        const int64_t smaller = base + original % std::min<int64_t>(base, 256);
        if (smaller >= original)
          break;
        size = smaller;
        if (ptxOf(specFor(row, dims, set, target), engine) == wanted)
          break;
        size = original;
      }
    }
  };
  shrink({256, 1024, 2048, 4096});
  if (harness::numElements(specFor(row, dims, set, target)) > mostElements)
    shrink({4, 16, 64});
  return dims;
}

Result<int> tandem::tune::checkCandidate(const bench::Row &row,
                                         const Parameters &set,
                                         const std::string &target,
                                         const harness::Engine &engine,
                                         Device &device, int schedules) {
  const DimBindings dims = smallDims(row, set, target, engine);
  // The row's own values, values whose sums are exact, and outliers.
  constexpr std::array<std::string_view, 3> kinds = {"", "small-int",
                                                     "outlier"};
  int passed = 0;
  for (size_t k = 0; k < kinds.size(); ++k) {
    CaseSpec spec = specFor(row, dims, set, target);
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      harness::ValueSpec &values = spec.inputs[i].values;
      values.seed = 1 + 31 * k + i;
      const bool isFree = values.limit == 0 &&
                          (values.kind == "uniform" || values.kind == "normal");
      if (isFree && !kinds[k].empty())
        values.kind = kinds[k];
    }
    spec.environment.fill = k == 1 ? 0xFF : 0xAA;
    spec.environment.guardBands = true;
    // Orders show races, which other values do not.
    const int orders = k == 0 ? schedules : 1;
    for (int order = 0; order < orders; ++order) {
      spec.environment.repeat = order == 0;
      spec.environment.scheduleSeed = static_cast<uint64_t>(order);
      const harness::Outcome outcome = harness::runCase(spec, engine, device);
      if (outcome.failed())
        return Error(outcome.failure.what.text() + ": " +
                     outcome.failure.message);
      passed += outcome.verdict == harness::Verdict::Passed;
    }
  }
  if (passed == 0)
    return Error("no case had a verdict");
  return passed;
}
