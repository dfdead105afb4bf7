//===- SoundnessTest.cpp - Correct kernels stay within the bound ----------===//
#include "Soundness.h"

#include <functional>

using namespace tandem;
using namespace tandem::refops;
using namespace tandem::refops::test;

namespace {

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
