//===- WrongEngine.h - The real engine with a bug planted in it -*- C++ -*-===//
#ifndef TANDEM_TESTS_QUALITY_WRONGENGINE_H
#define TANDEM_TESTS_QUALITY_WRONGENGINE_H

#include "harness/mutate/Plant.h"

namespace tandem::harness {

/// Edits the text of a kernel's tile stage before it is lowered to PTX; the
/// kernel keeps its unedited tile stage, as it would if the lowering were
/// wrong. Kernels that \p edit leaves alone stay what they are.
Engine withEditedTile(Engine engine,
                      std::function<std::string(const std::string &)> edit);

/// Removes every `tile.mask`: the tail of a row is no longer replaced by the
/// identity of the reduction that follows.
std::string dropMasks(const std::string &tile);

} // namespace tandem::harness

#endif // TANDEM_TESTS_QUALITY_WRONGENGINE_H
