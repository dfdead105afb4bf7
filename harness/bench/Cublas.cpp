//===- Cublas.cpp - cuBLAS as a peer, opened at run time ------------------===//
#include "harness/bench/Cublas.h"

#include <dlfcn.h>

using namespace tandem;
using namespace tandem::bench;

std::optional<Product> tandem::bench::productOf(const Row &row) {
  if (row.recipe.steps.size() != 1)
    return std::nullopt;
  const Step &step = row.recipe.steps[0];
  const bool isMatmul = step.op == Opcode::GEMM_TILE ||
                        step.op == Opcode::GEMV_TILE ||
                        step.op == Opcode::LM_HEAD;
  const std::vector<TensorDesc> inputs = inputDescs(row),
                                outputs = outputDescs(row);
  if (!isMatmul || inputs.size() != 2 || outputs.size() != 1)
    return std::nullopt;
  const DType dtype = inputs[0].dtype;
  if ((dtype != DType::BF16 && dtype != DType::F16) ||
      inputs[1].dtype != dtype || outputs[0].dtype != dtype)
    return std::nullopt;
  Product product;
  product.dtype = dtype;
  product.k = inputs[0].shape.back();
  product.n = outputs[0].shape.back();
  product.m = outputs[0].numElements() / product.n;
  const std::string layout = step.params.getString(
      "weight_layout", step.op == Opcode::LM_HEAD ? "kn" : "nk");
  product.isNk = layout == "nk";
  return product;
}

/// cublasStatus_t is an int, a handle a pointer; constants are cublas_api.h's.
struct Cublas::Api {
  int (*create)(void **);
  int (*destroy)(void *);
  int (*getVersion)(void *, int *);
  int (*setStream)(void *, void *);
  int (*setWorkspace)(void *, void *, size_t);
  int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int,
              int, const void *, int, int, const void *, void *, int, int, int,
              int);
  const char *(*statusText)(int);
};

Cublas::Cublas(Device &device) : memory(device) {}

static Error failure(const char *call, const char *text) {
  return Error(std::string(call) + ": " + text);
}

Result<std::unique_ptr<Cublas>> Cublas::open(Device &device) {
  // By soname first: a process with PyTorch has one loaded.
  static constexpr const char *names[] = {"libcublas.so.13", "libcublas.so.12",
                                          "libcublas.so",
                                          "/usr/local/cuda/lib64/libcublas.so"};
  GpuQueue *queue = device.queue();
  if (!queue)
    return Error(std::string(device.kind()) + ": no cuBLAS");
  void *library = nullptr;
  std::string tried;
  for (const char *name : names) {
    if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
      break;
    tried += std::string(tried.empty() ? "" : ", ") + name;
  }
  if (!library)
    return Error("cuBLAS is not installed (tried " + tried + ")");
  std::unique_ptr<Cublas> blas(new Cublas(device));
  blas->api = std::make_unique<Api>();
  Api &api = *blas->api;
  std::string missing;
  const auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, symbol));
    if (!function)
      missing += std::string(missing.empty() ? "" : ", ") + symbol;
  };
  find(api.create, "cublasCreate_v2");
  find(api.destroy, "cublasDestroy_v2");
  find(api.getVersion, "cublasGetVersion_v2");
  find(api.setStream, "cublasSetStream_v2");
  find(api.setWorkspace, "cublasSetWorkspace_v2");
  find(api.gemm, "cublasGemmEx");
  find(api.statusText, "cublasGetStatusString");
  if (!missing.empty())
    return Error("cuBLAS: the library lacks " + missing);
  if (const int code = api.create(&blas->handle))
    return failure("cublasCreate", api.statusText(code));
  int version = 0;
  api.getVersion(blas->handle, &version);
  blas->versionName = "cuBLAS " + std::to_string(version / 10000) + "." +
                      std::to_string(version / 100 % 100) + "." +
                      std::to_string(version % 100);
  constexpr int64_t workspaceBytes = int64_t(32) << 20;
  const Result<uint64_t> workspace =
      blas->memory.allocate(workspaceBytes, "cuBLAS workspace");
  if (!workspace)
    return workspace.error();
  // Setting the stream resets the workspace, so the stream comes first.
  if (const int code = api.setStream(blas->handle,
                                     reinterpret_cast<void *>(queue->stream())))
    return failure("cublasSetStream", api.statusText(code));
  if (const int code =
          api.setWorkspace(blas->handle, reinterpret_cast<void *>(*workspace),
                           static_cast<size_t>(workspaceBytes)))
    return failure("cublasSetWorkspace", api.statusText(code));
  return blas;
}

Cublas::~Cublas() {
  if (handle)
    api->destroy(handle);
}

Result<void> Cublas::multiply(const Product &product, const OperandSet &set) {
  constexpr int opN = 0, opT = 1, f16 = 2, bf16 = 14, computeF32 = 68,
                defaultAlgorithm = -1;
  const float one = 1, zero = 0;
  const int type = product.dtype == DType::F16 ? f16 : bf16;
  const auto m = static_cast<int>(product.m), n = static_cast<int>(product.n),
             k = static_cast<int>(product.k);
  const auto pointer = [](const Operand &operand) {
    return reinterpret_cast<void *>(operand.address);
  };
  // cuBLAS counts columns first: its matrices are our transposes, and it is
  // asked for yT = op(W) xT.
  const int code =
      api->gemm(handle, product.isNk ? opT : opN, opN, n, m, k, &one,
                pointer(set.inputs[1]), type, product.isNk ? k : n,
                pointer(set.inputs[0]), type, k, &zero, pointer(set.outputs[0]),
                type, n, computeF32, defaultAlgorithm);
  if (code)
    return failure("cublasGemmEx", api->statusText(code));
  return {};
}
