//===- Contenders.h - Those that a row compares -----------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_BENCH_CONTENDERS_H
#define TANDEM_HARNESS_BENCH_CONTENDERS_H

#include "harness/bench/Buffers.h"
#include "harness/bench/Cublas.h"
#include "harness/bench/Measure.h"
#include "harness/bench/RunSuite.h"

namespace tandem::bench {

/// An executable graph of a row's launches, and what it came from.
struct Contender {
  enum class Kind : uint8_t { Ours, Ceiling, Peer, Control };
  std::string name;
  Kind kind = Kind::Ours;
  uint64_t graph = 0;
  /// Whether `graph` is this contender's to release.
  bool owns = true;
  /// Why there is no graph.
  std::string error;
  /// One sentence about what runs.
  std::string detail;
  std::map<std::string, std::string> set;
  /// Where launch 0 leaves its outputs; empty if they cannot be compared.
  std::vector<Operand> outputs;
  /// Keeps alive what the graph uses.
  std::vector<std::shared_ptr<void>> kept;
  /// From our outputs, where they were compared.
  std::optional<double> difference;
  Timing timing;
};

std::string_view kindName(Contender::Kind kind);

/// Makes the contenders of one row on its sets.
class Contenders {
public:
  Contenders(const Row &row, const Bench &bench, Rotation rotation,
             const std::vector<OperandSet> &sets, Memory &memory,
             Filler &filler)
      : row(row), bench(bench), rotation(rotation), sets(sets), memory(memory),
        filler(filler), queue(*bench.device->queue()) {}
  ~Contenders();
  Contenders(const Contenders &) = delete;
  Contenders &operator=(const Contenders &) = delete;

  void addOurs();
  /// The two fastest of all plain kernels of the row's byte count.
  void addCeilings(uint64_t seed);
  /// \p cublas is opened when it is first needed and kept for other rows.
  void addPeer(const std::string &name,
               Result<std::unique_ptr<Cublas>> &cublas);
  /// The first peer again, or our kernel where there is none.
  void addControl();

  /// Runs each once on poisoned outputs and compares it with our kernel.
  Result<void> compare();
  /// Times all of them together.
  Result<std::vector<GpuSensors>> time(int rounds, uint64_t seed);

  std::vector<Contender> all;

private:
  Result<uint64_t>
  captureAll(const std::function<Result<void>(size_t set)> &enqueue);
  Contender ours(const std::map<std::string, std::string> &set);
  void addFromHost(const std::string &name);

  const Row &row;
  const Bench &bench;
  Rotation rotation;
  const std::vector<OperandSet> &sets;
  Memory &memory;
  Filler &filler;
  GpuQueue &queue;
  bool askedHost = false;
};

} // namespace tandem::bench

#endif // TANDEM_HARNESS_BENCH_CONTENDERS_H
