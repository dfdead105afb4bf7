//===- Soundness.h - Do correct kernels stay within the bound? ---*- C++
//-*-===//
//
// What soundness tests share: values that hurt, a tally of ratios between a
// kernel's error and its bound, and the evaluation of one op.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_TESTS_UNIT_REFOPS_SOUNDNESS_H
#define TANDEM_TESTS_UNIT_REFOPS_SOUNDNESS_H

#include "SimulatedKernels.h"
#include "refops/Evaluate.h"
#include "refops/KnownAnswers.h"

#include <cstring>
#include <doctest/doctest.h>

namespace tandem::refops::test {

inline constexpr uint32_t seed = 20251130;
inline constexpr int64_t rowsPerCall = 64;

/// A matrix of test values; the kind of nastiness changes from call to call.
inline std::vector<float> values(std::mt19937 &random, size_t count, int kind) {
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i) {
    x[i] = normal(random);
    switch (kind % 8) {
    case 1:
      x[i] = std::ldexp(x[i], int(random() % 40) - 20);
      break;
    case 2: // one outlier in sixteen
      x[i] *= random() % 16 ? 1.0f : 1e4f;
      break;
    case 3:
      x[i] += 100;
      break;
    case 4:
      x[i] = std::floor(x[i]);
      break;
    case 5:
      x[i] *= 30;
      break;
    case 6:
      x[i] = 1000 + static_cast<float>(i % 97) / 1000;
      break;
    case 7: // exact zeros, infinities, NaN, subnormals
      x[i] = random() % 3    ? x[i]
             : random() % 40 ? 0.0f
             : random() % 2  ? 0x1p-140f
             : random() % 2  ? -INFINITY
             : random() % 2  ? INFINITY
                             : NAN;
      break;
    default:
      break;
    }
  }
  return x;
}

struct Tally {
  int64_t rows = 0, elements = 0, unchecked = 0, violations = 0;
  std::vector<double> largestRatios; // one a row
  std::string first;

  /// Only \p areTypical values say how tight the bound is: where one key or one
  /// term decides, a kernel is right to the last bit.
  void add(const Expected &expected, const std::vector<Row> &got,
           bool areTypical = true) {
    const size_t columns = got.empty() ? 0 : got[0].size();
    for (size_t r = 0; r < got.size(); ++r) {
      double largest = 0;
      ++rows;
      for (size_t c = 0; c < columns; ++c) {
        const size_t i = r * columns + c;
        ++elements;
        if (expected.unchecked[i]) {
          ++unchecked;
          continue;
        }
        const double y = got[r][c], v = expected.value[i];
        const double e = expected.error[i];
        const bool isRight = std::isnan(v) ? std::isnan(y)
                             : std::isinf(v)
                                 ? y == v
                                 : static_cast<float>(v - e) <= y &&
                                       y <= static_cast<float>(v + e);
        if (!isRight && ++violations == 1)
          first = "value " + std::to_string(v) + " error " + std::to_string(e) +
                  " got " + std::to_string(y) + " column " + std::to_string(c) +
                  " of " + std::to_string(columns);
        if (std::isfinite(v) && e > 0)
          largest = std::max(largest, std::fabs(y - v) / e);
      }
      if (largest > 0 && areTypical)
        largestRatios.push_back(largest);
    }
  }

  /// \p leastMedian is what TESTING asks for, or less where the test says why.
  void report(const std::string &name, double leastMedian = 0.05) {
    REQUIRE(!largestRatios.empty());
    const auto middle = largestRatios.begin() +
                        static_cast<ptrdiff_t>(largestRatios.size() / 2);
    std::nth_element(largestRatios.begin(), middle, largestRatios.end());
    const double most =
        *std::max_element(largestRatios.begin(), largestRatios.end());
    MESSAGE(name << ": " << rows << " rows, " << elements << " elements, "
                 << unchecked << " unchecked; largest ratio: median " << *middle
                 << ", maximum " << most);
    CHECK_MESSAGE(violations == 0, first);
    CHECK(most <= 1);
    CHECK(*middle >= leastMedian);
    CHECK(unchecked * 5 < elements);
  }
};

inline TensorType typeOf(DType dtype, const Dims &shape) {
  TensorType type{dtype, {}};
  for (int64_t size : shape)
    type.shape.emplace_back(size);
  return type;
}

inline HostTensor tensorOf(const Dims &shape, const std::vector<float> &data) {
  HostTensor tensor = HostTensor::filled(DType::F32, shape, 0);
  std::memcpy(tensor.bytes.data(), data.data(), data.size() * sizeof(float));
  return tensor;
}

inline Row rowOf(const std::vector<float> &data, int64_t row, int64_t columns) {
  return {data.begin() + row * columns, data.begin() + (row + 1) * columns};
}

/// What one op writes, with results in f32: outputs, then states.
inline std::vector<Expected> expectAll(Opcode op,
                                       std::vector<HostTensor> &inputs,
                                       const StepContract &step,
                                       const Params &params = {}) {
  std::vector<TensorType> types;
  std::vector<View> views;
  for (HostTensor &input : inputs) {
    types.push_back(typeOf(input.desc.dtype, input.desc.shape));
    views.push_back(input.view());
  }
  const Result<Recipe> recipe = singleOpRecipe(op, types, params, DType::F32);
  REQUIRE_MESSAGE(recipe, (recipe ? "" : recipe.error().text()));
  Contract contract;
  contract.steps = {step};
  Result<std::vector<Expected>> expected = evaluate(*recipe, views, contract);
  REQUIRE_MESSAGE(expected, (expected ? "" : expected.error().text()));
  return expected.take();
}

inline Expected expect(Opcode op, std::vector<HostTensor> &inputs,
                       const StepContract &step, const Params &params = {}) {
  return std::move(expectAll(op, inputs, step, params)[0]);
}

inline StepContract contractOf(Opcode op, const std::string &depth) {
  StepContract step;
  step.op = op;
  step.depth = depth;
  step.approx = {"erfc", "ex2.approx", "exp", "rsqrt.approx", "sigmoid"};
  return step;
}

} // namespace tandem::refops::test

#endif // TANDEM_TESTS_UNIT_REFOPS_SOUNDNESS_H
