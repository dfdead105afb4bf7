//===- Buffers.h - What a row's launches read and write ---------*- C++ -*-===//
#ifndef TANDEM_HARNESS_BENCH_BUFFERS_H
#define TANDEM_HARNESS_BENCH_BUFFERS_H

#include "codegen/device/Device.h"
#include "harness/bench/Suite.h"

namespace tandem::bench {

/// Device memory that is released together.
class Memory {
public:
  explicit Memory(Device &device) : device(&device) {}
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  Result<uint64_t> allocate(int64_t bytes, const std::string &name);

private:
  Device *device;
  std::vector<uint64_t> addresses;
};

/// Values made once on the host and repeated over a buffer on the device. The
/// period is no multiple of any row, so that rows differ.
class Filler {
public:
  explicit Filler(Device &device) : device(device), memory(device) {}
  /// Enqueues the filling of contiguous \p operand as \p spec says.
  Result<void> fill(const Operand &operand, const harness::ValueSpec &spec);

private:
  Device &device;
  Memory memory;
  struct Pool {
    uint64_t address = 0;
    int64_t bytes = 0;
  };
  std::map<std::string, Pool> pools;
};

/// The operands of one launch.
struct OperandSet {
  std::vector<Operand> inputs, outputs;
};

/// Allocates and fills \p count sets for \p row in \p memory.
Result<std::vector<OperandSet>> makeSets(const Row &row, int count,
                                         Memory &memory, Filler &filler);

/// The first million elements of each output.
struct Sample {
  std::vector<TensorDesc> descs;
  std::vector<std::vector<std::byte>> values;
};
Result<Sample> sampleOf(Device &device, const std::vector<Operand> &outputs);

/// |got - expected| / |expected| in the Euclidean norm; infinite where one of
/// two elements is not finite. Fails on other types or shapes.
Result<double> differenceOf(const Sample &got, const Sample &expected);

} // namespace tandem::bench

#endif // TANDEM_HARNESS_BENCH_BUFFERS_H
