//===- SoundnessTest.cpp - Correct kernels stay within the bound ----------===//
#include "SimulatedKernels.h"
#include "refops/Evaluate.h"
#include "refops/KnownAnswers.h"

#include <cstring>
#include <doctest/doctest.h>
#include <functional>

using namespace tandem;
using namespace tandem::refops;
using namespace tandem::refops::test;

namespace {

constexpr uint32_t seed = 20251130;
constexpr int64_t rowsPerCall = 64;

/// A matrix of test values; the kind of nastiness changes from call to call.
std::vector<float> values(std::mt19937 &random, size_t count, int kind) {
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

  void add(const Expected &expected, const std::vector<Row> &got) {
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
      if (largest > 0)
        largestRatios.push_back(largest);
    }
  }

  void report(const std::string &name) {
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
    CHECK(*middle >= 0.05);
    CHECK(unchecked * 5 < elements);
  }
};

TensorType typeOf(DType dtype, const Dims &shape) {
  TensorType type{dtype, {}};
  for (int64_t size : shape)
    type.shape.emplace_back(size);
  return type;
}

HostTensor tensorOf(const Dims &shape, const std::vector<float> &data) {
  HostTensor tensor = HostTensor::filled(DType::F32, shape, 0);
  std::memcpy(tensor.bytes.data(), data.data(), data.size() * sizeof(float));
  return tensor;
}

Row rowOf(const std::vector<float> &data, int64_t row, int64_t columns) {
  return {data.begin() + row * columns, data.begin() + (row + 1) * columns};
}

/// Evaluates one op on f32 operands of the given shapes.
Expected expect(Opcode op, std::vector<HostTensor> &inputs,
                const StepContract &step) {
  std::vector<TensorType> types;
  std::vector<View> views;
  for (HostTensor &input : inputs) {
    types.push_back(typeOf(input.desc.dtype, input.desc.shape));
    views.push_back(input.view());
  }
  const Result<Recipe> recipe = singleOpRecipe(op, types, {}, DType::F32);
  REQUIRE_MESSAGE(recipe, (recipe ? "" : recipe.error().text()));
  Contract contract;
  contract.steps = {step};
  Result<std::vector<Expected>> expected = evaluate(*recipe, views, contract);
  REQUIRE_MESSAGE(expected, (expected ? "" : expected.error().text()));
  return std::move((*expected)[0]);
}

StepContract contractOf(Opcode op, const std::string &depth) {
  StepContract step;
  step.op = op;
  step.depth = depth;
  step.approx = {"erfc", "ex2.approx", "exp", "rsqrt.approx", "sigmoid"};
  return step;
}

int64_t someColumns(std::mt19937 &random) {
  static const int64_t sizes[] = {1, 2, 3, 31, 32, 33, 64, 127};
  return sizes[random() % 8];
}

using Kernel =
    std::function<Row(const std::vector<std::vector<float>> &operands,
                      int64_t row, int64_t columns, const Order &order)>;

/// Runs \p kernel on \p calls matrices with operands that are matrices (true)
/// or vectors over the last axis (false).
void checkRowWise(const std::string &name, Opcode op,
                  const std::vector<bool> &areMatrices, int calls,
                  const Kernel &kernel) {
  std::mt19937 random(seed);
  Tally tally;
  for (int call = 0; call < calls; ++call) {
    const Order &order = orders()[static_cast<size_t>(call) % orders().size()];
    const int64_t columns = someColumns(random);
    std::vector<std::vector<float>> data;
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < areMatrices.size(); ++i) {
      const Dims shape =
          areMatrices[i] ? Dims{rowsPerCall, columns} : Dims{columns};
      data.push_back(values(
          random,
          static_cast<size_t>(contiguous(DType::F32, shape).numElements()),
          i == 0 ? call / 3 : 0));
      inputs.push_back(tensorOf(shape, data.back()));
    }
    std::vector<Row> got;
    for (int64_t r = 0; r < rowsPerCall; ++r)
      got.push_back(kernel(data, r, columns, order));
    tally.add(expect(op, inputs, contractOf(op, order.depth)), got);
  }
  tally.report(name);
}

} // namespace

TEST_SUITE("soundness") {
  TEST_CASE("row-wise kernels in several orders stay within the bound") {
    Approximations approx(seed);
    checkRowWise("softmax", Opcode::SOFTMAX, {true}, 600,
                 [&](const auto &x, int64_t r, int64_t n, const Order &order) {
                   return softmax(rowOf(x[0], r, n), order, approx);
                 });
    checkRowWise("rmsnorm", Opcode::RMSNORM, {true, false}, 600,
                 [&](const auto &x, int64_t r, int64_t n, const Order &order) {
                   return rmsnorm(rowOf(x[0], r, n), x[1], 1e-6f, order,
                                  approx);
                 });
    checkRowWise("layernorm", Opcode::LAYERNORM, {true, false, false}, 600,
                 [&](const auto &x, int64_t r, int64_t n, const Order &order) {
                   return layernorm(rowOf(x[0], r, n), x[1], x[2], 1e-5f, order,
                                    approx);
                 });
    checkRowWise("silu_mul", Opcode::SILU_MUL, {true, true}, 300,
                 [&](const auto &x, int64_t r, int64_t n, const Order &) {
                   return siluMul(rowOf(x[0], r, n), rowOf(x[1], r, n), approx);
                 });
    checkRowWise("gelu", Opcode::GELU, {true}, 300,
                 [&](const auto &x, int64_t r, int64_t n, const Order &) {
                   return gelu(rowOf(x[0], r, n), approx);
                 });
  }

  TEST_CASE("dot products in several orders stay within the bound") {
    std::mt19937 random(seed);
    for (const Order &order : orders()) {
      if (!order.dot)
        continue;
      Tally tally;
      for (int call = 0; call < 48; ++call) {
        // A chain is licensed up to ceildiv(k, 32) + 32 additions.
        const int64_t longest = order.depth == "n" ? 33 : 200, n = 16;
        const int64_t k = 1 + int64_t(random()) % longest;
        const auto x = values(random, size_t(rowsPerCall * k), call);
        const auto w = values(random, size_t(n * k), call % 3);
        std::vector<HostTensor> inputs = {tensorOf({rowsPerCall, k}, x),
                                          tensorOf({n, k}, w)};
        StepContract step = contractOf(Opcode::GEMM_TILE, order.depth);
        step.dot = "fma";
        std::vector<Row> got;
        for (int64_t r = 0; r < rowsPerCall; ++r) {
          got.emplace_back();
          for (int64_t c = 0; c < n; ++c)
            got.back().push_back(order.dot(rowOf(x, r, k), rowOf(w, c, k)));
        }
        tally.add(expect(Opcode::GEMM_TILE, inputs, step), got);
      }
      tally.report("gemm, fma, " + order.name);
    }
  }

  TEST_CASE("the tensor-core model stays within its bound") {
    std::mt19937 random(seed);
    for (const DType dtype : {DType::F16, DType::BF16}) {
      Tally tally;
      for (int call = 0; call < 100; ++call) {
        const int64_t k = 1 + int64_t(random() % 200), n = 16;
        // Kinds without infinities: the model above has none.
        auto x = values(random, size_t(rowsPerCall * k), call % 7);
        auto w = values(random, size_t(n * k), call % 3);
        const auto round = [&](std::vector<float> &v, const Dims &shape) {
          HostTensor tensor = HostTensor::filled(dtype, shape, 0);
          for (size_t i = 0; i < v.size(); ++i) {
            // Normal numbers only: subnormal products are not normalised.
            if (std::fabs(v[i]) < 0x1p-14f)
              v[i] = 0;
            v[i] = static_cast<float>(tandem::roundTo(dtype, v[i]));
            storeDouble(dtype, v[i],
                        tensor.bytes.data() + i * dtypeSize(dtype));
          }
          return tensor;
        };
        std::vector<HostTensor> inputs = {round(x, {rowsPerCall, k}),
                                          round(w, {n, k})};
        StepContract step = contractOf(Opcode::GEMM_TILE, "");
        step.dot = "mma.m16n8k16." + std::string(dtypeName(dtype));
        step.dotChunk = 16;
        std::vector<Row> got;
        for (int64_t r = 0; r < rowsPerCall; ++r) {
          got.emplace_back();
          for (int64_t c = 0; c < n; ++c)
            got.back().push_back(dotTensorCore(rowOf(x, r, k), rowOf(w, c, k)));
        }
        tally.add(expect(Opcode::GEMM_TILE, inputs, step), got);
      }
      tally.report("gemm, " + std::string(dtypeName(dtype)) + " tensor core");
    }
  }
}
