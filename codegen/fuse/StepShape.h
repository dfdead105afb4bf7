//===- StepShape.h - How one step lies in a row space -----------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_FUSE_STEPSHAPE_H
#define TANDEM_CODEGEN_FUSE_STEPSHAPE_H

#include "codegen/fuse/Partition.h"

namespace tandem::codegen {

/// How one step lies in a row space.
struct StepShape {
  Family family = Family::RowWise;
  std::vector<Dim> space;
  int axis = -1;
  /// Has an axis, but adds nothing up along it.
  bool isElementwise = false;
  /// Gathers its rows, so that it can only come first.
  bool beginsKernel = false;
  /// Why nothing can follow; empty where something can.
  std::string endsBecause;
};

/// The shape of step \p index of the graph's recipe.
StepShape shapeOf(const Step &step, const Graph &graph, int index);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_FUSE_STEPSHAPE_H
