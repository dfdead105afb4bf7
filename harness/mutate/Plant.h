//===- Plant.h - An engine with a bug planted in it -------------*- C++ -*-===//
//
// A planted bug is an edit of something on the way from recipe to verdict: the
// recipe that is compiled, a kernel's tile stage or its PTX text, what the
// device leaves in memory, or the reference. Everything else stays as it is.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_MUTATE_PLANT_H
#define TANDEM_HARNESS_MUTATE_PLANT_H

#include "harness/case/CaseSpec.h"
#include "harness/run/Engine.h"

namespace tandem::harness {

using TextEdit = std::function<std::string(const std::string &)>;
using KernelEdit = std::function<Result<Kernel>(const Kernel &)>;

/// Programs with each kernel replaced by \p edit's, remembered, as the same
/// kernel comes up in many cases.
Engine withEditedKernels(Engine engine, KernelEdit edit);

/// The PTX text of every kernel is edited.
Engine withEditedPtx(Engine engine, TextEdit edit);

/// The tile stage of every kernel is edited, and executed by the tile device.
Engine withEditedTileStage(Engine engine, TextEdit edit);

/// Another recipe is compiled than the one that is asked for.
Engine withEditedRecipe(Engine engine, std::function<void(Recipe &)> edit);

/// \p edit changes the outputs after every launch.
Engine withEditedOutputs(
    Engine engine,
    std::function<void(Device &, const std::vector<Operand> &outputs)> edit);

/// \p edit changes what the reference expects.
Engine
withEditedReference(Engine engine,
                    std::function<void(std::vector<refops::Expected> &)> edit);

/// Changes the last element, in row-major order, of the first output.
void editLastElement(
    Device &device, const std::vector<Operand> &outputs,
    const std::function<void(DType, std::byte *element)> &edit);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_MUTATE_PLANT_H
