//===- Overlap.cpp - Whether views share bytes ----------------------------===//
//
// Two elements coincide when a linear equation with bounded unknowns has a
// solution: sum_i a_i x_i = target, 0 <= x_i <= u_i. The unknowns are tried in
// order of falling coefficients. What the others can still reach, and their
// greatest common divisor, leave few values for each, as strides of real views
// are nested or equal.
//
//===----------------------------------------------------------------------===//
#include "refops/core/Overlap.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace tandem;

namespace {
using Wide = __int128;

class BoundedEquation {
public:
  void addUnknown(int64_t coefficient, Wide bound) {
    if (coefficient <= 0 || bound <= 0)
      return;
    // Unknowns of one coefficient reach exactly what their sum reaches.
    for (Term &term : terms)
      if (term.coefficient == coefficient) {
        term.bound += bound;
        return;
      }
    terms.push_back({coefficient, bound, 0, 0});
  }

  Overlap hasSolution(Wide target) {
    std::sort(terms.begin(), terms.end(), [](const Term &a, const Term &b) {
      return a.coefficient > b.coefficient;
    });
    Wide reach = 0;
    int64_t divisor = 0;
    for (size_t i = terms.size(); i-- > 0;) {
      terms[i].reachAfter = reach;
      terms[i].divisorAfter = divisor;
      reach += terms[i].coefficient * terms[i].bound;
      divisor = std::gcd(divisor, terms[i].coefficient);
    }
    steps = 0;
    if (target < 0 || target > reach)
      return Overlap::No;
    return search(0, target);
  }

private:
  struct Term {
    int64_t coefficient;
    Wide bound;
    /// The most that the unknowns after this one can add, and the divisor of
    /// all that they can add.
    Wide reachAfter;
    int64_t divisorAfter;
  };

  Overlap search(size_t i, Wide target) {
    if (i == terms.size())
      return target == 0 ? Overlap::Yes : Overlap::No;
    const Term &term = terms[i];
    Wide most = std::min(term.bound, target / term.coefficient);
    Wide least = target - term.reachAfter;
    least = least <= 0 ? 0 : (least + term.coefficient - 1) / term.coefficient;
    for (Wide x = most; x >= least; --x) {
      if (++steps > maxSteps)
        return Overlap::Unknown;
      const Wide rest = target - x * term.coefficient;
      if (term.divisorAfter ? rest % term.divisorAfter != 0 : rest != 0)
        continue;
      const Overlap found = search(i + 1, rest);
      if (found != Overlap::No)
        return found;
    }
    return Overlap::No;
  }

  static constexpr int maxSteps = 100000;
  std::vector<Term> terms;
  int steps = 0;
};

/// A dim with more than one element.
struct Axis {
  int64_t stride;
  int64_t last;
};
} // namespace

static std::vector<Axis> axesOf(const TensorDesc &desc, int64_t unit) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < desc.rank(); ++i)
    if (desc.shape[i] > 1)
      axes.push_back({desc.strides[i] * unit, desc.shape[i] - 1});
  return axes;
}

static bool isEmpty(const TensorDesc &desc) {
  return std::find(desc.shape.begin(), desc.shape.end(), 0) != desc.shape.end();
}

Overlap tandem::overlapsItself(const TensorDesc &desc) {
  if (isEmpty(desc))
    return Overlap::No;
  std::vector<Axis> axes = axesOf(desc, 1);
  std::sort(axes.begin(), axes.end(),
            [](const Axis &a, const Axis &b) { return a.stride < b.stride; });
  // The common case: each stride clears everything below it.
  Wide reach = 0;
  bool isNested = true;
  for (const Axis &axis : axes) {
    if (axis.stride == 0)
      return Overlap::Yes;
    isNested &= axis.stride > reach;
    reach += static_cast<Wide>(axis.stride) * axis.last;
  }
  if (isNested)
    return Overlap::No;
  // Otherwise two index vectors differ by d with sum d_i s_i = 0. Take the
  // first non-zero entry positive and shift the rest to start at 0.
  for (size_t first = 0; first < axes.size(); ++first) {
    BoundedEquation equation;
    Wide target = -static_cast<Wide>(axes[first].stride);
    equation.addUnknown(axes[first].stride, axes[first].last - 1);
    for (size_t i = first + 1; i < axes.size(); ++i) {
      equation.addUnknown(axes[i].stride, Wide(2) * axes[i].last);
      target += static_cast<Wide>(axes[i].stride) * axes[i].last;
    }
    const Overlap found = equation.hasSolution(target);
    if (found != Overlap::No)
      return found;
  }
  return Overlap::No;
}

Overlap tandem::overlaps(const Operand &a, const Operand &b) {
  if (isEmpty(a.desc) || isEmpty(b.desc))
    return Overlap::No;
  const int64_t sizeA = static_cast<int64_t>(dtypeSize(a.desc.dtype));
  const int64_t sizeB = static_cast<int64_t>(dtypeSize(b.desc.dtype));
  const Wide beginA = a.address, beginB = b.address;
  const Wide endA = beginA + static_cast<Wide>(a.desc.extent()) * sizeA;
  const Wide endB = beginB + static_cast<Wide>(b.desc.extent()) * sizeB;
  if (endA <= beginB || endB <= beginA)
    return Overlap::No;
  // beginA + sum x_i s_i + byte = beginB + sum y_j t_j + otherByte, with y_j
  // and otherByte counted down from their last values.
  BoundedEquation equation;
  Wide target = beginB - beginA + (sizeB - 1);
  for (const Axis &axis : axesOf(a.desc, sizeA))
    equation.addUnknown(axis.stride, axis.last);
  for (const Axis &axis : axesOf(b.desc, sizeB)) {
    equation.addUnknown(axis.stride, axis.last);
    target += static_cast<Wide>(axis.stride) * axis.last;
  }
  equation.addUnknown(1, sizeA - 1 + sizeB - 1);
  return equation.hasSolution(target);
}
