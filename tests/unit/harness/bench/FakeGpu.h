//===- FakeGpu.h - A GPU whose times are told ------------------*- C++ -*-===//
//
// Launches are functions with a price; a graph is a list of them, and a replay
// runs them on the host and gives the sum of the prices.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_TESTS_UNIT_HARNESS_BENCH_FAKEGPU_H
#define TANDEM_TESTS_UNIT_HARNESS_BENCH_FAKEGPU_H

#include "../FakeEngine.h"
#include "harness/bench/RunSuite.h"

namespace tandem::bench {

struct FakeLaunch {
  double us = 1;
  std::function<void()> run;
};

class FakeQueue final : public GpuQueue {
public:
  uint64_t stream() const override { return 7; }
  uint64_t l2Bytes() const override { return 1 << 10; }
  Result<void> copy(uint64_t target, uint64_t source, uint64_t bytes) override {
    return enqueue({2, [=] {
                      std::memmove(reinterpret_cast<void *>(target),
                                   reinterpret_cast<void *>(source), bytes);
                    }});
  }
  Result<void> synchronize() override {
    return isLost ? Result<void>(Error("lost")) : Result<void>();
  }
  Result<uint64_t> capture(const std::function<Result<void>()> &body) override {
    capturing = &graphs[++last];
    const Result<void> done = body();
    capturing = nullptr;
    if (!done)
      return done.error();
    return last;
  }
  Result<uint64_t> instantiate(uint64_t graph) override {
    graphs[++last] = {{static_cast<double>(graph), [] {}}};
    return last;
  }
  void release(uint64_t executable) override { graphs.erase(executable); }
  Result<double> replay(uint64_t executable) override {
    order.push_back(executable);
    if (isLost)
      return Error("lost");
    double us = 0;
    for (const FakeLaunch &launch : graphs.at(executable)) {
      us += launch.us;
      launch.run();
    }
    return us;
  }
  std::optional<GpuSensors> sensors() override {
    return GpuSensors{1500, 3000, 650, 60, reasons};
  }

  Result<void> enqueue(FakeLaunch launch) {
    if (capturing)
      capturing->push_back(std::move(launch));
    else
      launch.run();
    return {};
  }

  std::map<uint64_t, std::vector<FakeLaunch>> graphs;
  std::vector<uint64_t> order;
  uint64_t reasons = 0x4;
  bool isLost = false;

private:
  std::vector<FakeLaunch> *capturing = nullptr;
  uint64_t last = 0;
};

class FakeKernel final : public LoadedKernel {};

/// Plain kernels take 5 us and do nothing.
class FakeGpu final : public harness::HostDevice {
public:
  std::string_view kind() const override { return "cuda"; }
  GpuQueue *queue() override { return &fakeQueue; }
  Result<std::shared_ptr<LoadedKernel>> load(const Kernel &) override {
    return std::shared_ptr<LoadedKernel>(std::make_shared<FakeKernel>());
  }
  Result<std::unique_ptr<PreparedLaunch>>
  prepare(std::shared_ptr<LoadedKernel>,
          const std::vector<Operand> &) override {
    struct Launch final : PreparedLaunch {
      explicit Launch(FakeQueue &queue) : queue(queue) {}
      Result<void> enqueue(uint64_t) override {
        return queue.enqueue({5, [] {}});
      }
      Result<void> bind(const std::vector<Operand> &) override { return {}; }
      Result<void> enqueuePlainly(uint64_t stream) override {
        return enqueue(stream);
      }
      Result<std::vector<IndexError>> indexErrors() override {
        return std::vector<IndexError>();
      }
      FakeQueue &queue;
    };
    return std::unique_ptr<PreparedLaunch>(std::make_unique<Launch>(fakeQueue));
  }
  FakeQueue fakeQueue;
};

/// Our programs double f32 inputs into outputs in 4 us, 3 us with `fast=1`, and
/// do not compile with `bad=1`.
inline Bench fakeBench(FakeGpu &gpu) {
  struct Prepared final : PreparedProgram {
    Prepared(FakeQueue &queue, double us, const std::vector<Operand> &inputs,
             const std::vector<Operand> &outputs)
        : queue(queue), us(us), inputs(inputs), outputs(outputs) {}
    Result<void> enqueue(uint64_t) override {
      return queue.enqueue(
          {us, [in = inputs[0], out = outputs[0]] {
             for (int64_t i = 0; i < in.desc.numElements(); ++i)
               reinterpret_cast<float *>(out.address)[i] =
                   2 * reinterpret_cast<const float *>(in.address)[i];
           }});
    }
    Result<void> bind(const std::vector<Operand> &,
                      const std::vector<Operand> &) override {
      return {};
    }
    Result<void> enqueuePlainly(uint64_t stream) override {
      return enqueue(stream);
    }
    Result<std::vector<IndexError>> indexErrors() override {
      return std::vector<IndexError>();
    }
    FakeQueue &queue;
    double us;
    std::vector<Operand> inputs, outputs;
  };
  Bench bench;
  bench.device = &gpu;
  bench.compile = [](const Recipe &recipe, const std::vector<Operand> &,
                     const std::vector<Operand> &,
                     const CompileOptions &options)
      -> Result<std::shared_ptr<const Program>> {
    if (options.set.contains("bad"))
      return Error("set: no kernel");
    auto program = std::make_shared<Program>();
    program->recipe = recipe;
    if (options.set.contains("fast"))
      program->explanation = {"fast"};
    return std::shared_ptr<const Program>(program);
  };
  bench.load = [](Device &, const Program &) {
    return Result<LoadedProgram>(LoadedProgram());
  };
  bench.prepare = [&gpu](Device &, const Program &program,
                         const LoadedProgram &,
                         const std::vector<Operand> &inputs,
                         const std::vector<Operand> &outputs)
      -> Result<std::unique_ptr<PreparedProgram>> {
    return std::unique_ptr<PreparedProgram>(std::make_unique<Prepared>(
        gpu.fakeQueue, program.explanation.empty() ? 4 : 3, inputs, outputs));
  };
  return bench;
}

} // namespace tandem::bench

#endif // TANDEM_TESTS_UNIT_HARNESS_BENCH_FAKEGPU_H
