//===- OracleMutants.cpp - Checks that look away --------------------------===//
//
// A check is worth having when there is a bug that only it sees. Each line
// leaves out one check, and plants that bug: the mutant is killed when the
// whole tester finds the bug and the tester without the check does not.
//
//===----------------------------------------------------------------------===//
#include "harness/mutate/Mutant.h"
#include "harness/mutate/TextEdits.h"

#include <cmath>
#include <limits>

using namespace tandem;
using namespace tandem::harness;

static Mutant blind(std::string op, std::string name, std::string blindTo) {
  Mutant mutant;
  mutant.op = std::move(op);
  mutant.stage = MutantStage::Oracle;
  mutant.name = std::move(name);
  mutant.blindTo = std::move(blindTo);
  return mutant;
}

/// The last element becomes what \p change makes of it.
static std::function<void(Device &, const std::vector<Operand> &)>
lastBecomes(double (*change)(DType, double)) {
  return [=](Device &device, const std::vector<Operand> &outputs) {
    editLastElement(device, outputs, [=](DType type, std::byte *element) {
      storeDouble(type, change(type, loadDouble(type, element)), element);
    });
  };
}

std::vector<Mutant> tandem::harness::oracleMutants() {
  std::vector<Mutant> mutants;
  auto add = [&](Mutant mutant) -> Mutant & {
    mutants.push_back(std::move(mutant));
    return mutants.back();
  };
  add(blind("gelu", "NaN is accepted", "result nan")).editOutput = lastBecomes(
      [](DType, double) { return std::numeric_limits<double>::quiet_NaN(); });
  add(blind("gelu", "infinity is accepted", "result inf")).editOutput =
      lastBecomes([](DType type, double x) {
        return type == DType::F8E4M3 ? x
                                     : std::numeric_limits<double>::infinity();
      });
  add(blind("add", "unwritten is accepted", "result unwritten")).editText =
      replaceLines(R"(st\.global[^;]*;)", "", Where::Last);
  add(blind("mul", "the sign of zero is not looked at", "result zero-sign"))
      .editOutput =
      lastBecomes([](DType, double x) { return x == 0 ? -x : x; });
  add(blind("sample_argmax", "any index is right", "result value")).editOutput =
      lastBecomes([](DType, double x) { return x + 1; });
  add(blind("copy", "moved bits are not looked at", "result bits")).editOutput =
      lastBecomes(
          [](DType type, double x) { return isInteger(type) ? x : -x; });
  add(blind("embed", "index errors are ignored", "result index-error"))
      .editText = replaceLines(R"(atom\.[^;]*min[^;]*;)", "");
  add(blind("gemm_tile", "what the op leaves alone may be written",
            "result touched"))
      .editRecipe = [](Recipe &recipe) {
    for (Step &step : recipe.steps)
      step.params.values.erase("N_tile");
  };
  add(blind("softmax", "the device's findings are ignored", "check")).editText =
      replaceLines(R"(bar(rier)?\.sync[^;]*;)", "");
  add(blind("add", "what lies around an output is not looked at", "guard"))
      .editOutput = [](Device &device, const std::vector<Operand> &outputs) {
    const Operand &y = outputs.front();
    const std::byte zero[8] = {};
    const size_t size = dtypeSize(y.desc.dtype);
    if (y.desc.numElements())
      (void)device.write(y.address - size, zero, size);
  };
  add(blind("softmax", "launches are not compared with each other",
            "consistency"))
      .editOutput = [odd = std::make_shared<bool>()](
                        Device &device, const std::vector<Operand> &outputs) {
    // Within the bound of a softmax in f32.
    *odd = !*odd;
    editLastElement(device, outputs, [&](DType type, std::byte *element) {
      const double y = loadDouble(type, element);
      if (*odd && type == DType::F32 && y > 1e-30 && y < 1)
        storeDouble(type, nextDown(type, y), element);
    });
  };
  Mutant &wide = add(blind("rmsnorm", "bounds are 64 times as wide", ""));
  // About ten bounds of a row of ordinary length in f32.
  wide.editOutput = lastBecomes([](DType type, double x) {
    return type == DType::F32 ? x * (1 + 0x1p-17) : x;
  });
  wide.editReference = [](std::vector<refops::Expected> &outputs) {
    for (refops::Expected &output : outputs)
      for (double &error : output.error)
        error *= 64;
  };
  return mutants;
}
