//===- Cublas.h - cuBLAS as a peer, opened at run time ----------*- C++ -*-===//
#ifndef TANDEM_HARNESS_BENCH_CUBLAS_H
#define TANDEM_HARNESS_BENCH_CUBLAS_H

#include "codegen/device/Device.h"
#include "harness/bench/Buffers.h"

#include <optional>

namespace tandem::bench {

/// A product that cuBLAS computes: y[M, N] = x[M, K] W with plain weights.
struct Product {
  DType dtype = DType::BF16;
  int64_t m = 0, n = 0, k = 0;
  /// W is [N, K], else [K, N].
  bool isNk = true;
};

/// The product that the whole recipe is, if it is one that cuBLAS has.
std::optional<Product> productOf(const Row &row);

class Cublas {
public:
  /// Opens the library, creates a handle on the queue's stream and gives it the
  /// 32 MiB of workspace that PyTorch gives it. Fails where there is none, with
  /// the names that were tried.
  static Result<std::unique_ptr<Cublas>> open(Device &device);
  ~Cublas();
  Cublas(const Cublas &) = delete;
  Cublas &operator=(const Cublas &) = delete;

  /// Enqueues cublasGemmEx with f32 accumulation.
  Result<void> multiply(const Product &product, const OperandSet &set);
  /// `cuBLAS 13.0.2`.
  const std::string &name() const { return versionName; }

private:
  explicit Cublas(Device &device);
  struct Api;
  std::unique_ptr<Api> api;
  void *handle = nullptr;
  Memory memory;
  std::string versionName;
};

} // namespace tandem::bench

#endif // TANDEM_HARNESS_BENCH_CUBLAS_H
