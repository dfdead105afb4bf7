//===- Bench.cpp - tandem bench -------------------------------------------===//
//
// How fast the emulator is on this processor, on one core with all checks: a
// loop that does nothing but stream, tensor-core instructions, and one tile of
// a whole Hopper matmul (samples/ptx), asynchronous copies and waits included.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/Device.h"
#include "harness/tools/BenchHardware.h"
#include "harness/tools/BenchRun.h"
#include "harness/tools/TileSample.h"

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::tools;
using nlohmann::json;

namespace {
struct Options {
  double seconds = 1;
  bool json = false;
};

struct Workload {
  std::string name;
  std::string ptx;
  int64_t blocks = 1;
  int threads = 256;
  /// Elements of the two f32 buffers.
  int64_t elements = 0;
  /// Multiply-adds of a launch on tensor cores.
  double multiplyAdds = 0;
};

struct Speed {
  double threadInstructions = 0, multiplyAdds = 0; // a second
};
} // namespace

static const char *header = ".version 8.0\n.target sm_90a\n.address_size 64\n";

/// y += 2 x, each thread over elements a grid apart: nine instructions, three
/// of them accesses.
static Workload streaming() {
  Workload work;
  work.name = "streaming loop";
  work.blocks = 4;
  work.elements = 1 << 20;
  work.ptx = std::string(header) + R"(
.visible .entry k(.param .u64 x, .param .u64 y) {
.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<4>;
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mov.u32 %r4, %nctaid.x;
mad.lo.s32 %r1, %r2, %r3, %r1;
mul.lo.s32 %r5, %r4, %r3;
mul.wide.u32 %d3, %r1, 4;
add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
mul.wide.u32 %d4, %r5, 4;
mov.u32 %r6, %r1;
LOOP:
ld.global.f32 %f1, [%d1];
ld.global.f32 %f2, [%d2];
fma.rn.f32 %f2, %f1, 0f40000000, %f2;
st.global.f32 [%d2], %f2;
add.s64 %d1, %d1, %d4;
add.s64 %d2, %d2, %d4;
add.s32 %r6, %r6, %r5;
setp.lt.s32 %p1, %r6, 1048576;
@%p1 bra LOOP;
ret;
}
)";
  return work;
}

/// Eight independent accumulators, 256 steps of m16n8k16 in bf16.
static Workload tensorCore() {
  Workload work;
  work.name = "mma.sync bf16 loop";
  work.blocks = 4;
  work.threads = 32;
  work.elements = 4096;
  constexpr int accumulators = 8, steps = 256;
  work.multiplyAdds = 4.0 * accumulators * steps * 16 * 8 * 16;
  std::string body;
  for (int a = 0; a < accumulators; ++a) {
    std::string d = "{";
    for (int i = 0; i < 4; ++i)
      d += "%f" + std::to_string(4 * a + i) + (i == 3 ? "}" : ",");
    body += "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + d +
            ", {%r1,%r2,%r3,%r4}, {%r5,%r6}, " + d + ";\n";
  }
  std::string zero;
  for (int i = 0; i < 4 * accumulators; ++i)
    zero += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
  std::string load;
  for (int i = 1; i <= 6; ++i)
    load += "ld.global.u32 %r" + std::to_string(i) + ", [%d1+" +
            std::to_string(128 * i) + "];\n";
  work.ptx = std::string(header) + R"(
.visible .entry k(.param .u64 x, .param .u64 y) {
.reg .pred %p<2>; .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .f32 %f<40>;
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;
mov.u32 %r7, %tid.x; mul.wide.u32 %d3, %r7, 4;
add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
mov.u32 %r9, %ctaid.x; mul.wide.u32 %d4, %r9, 128; add.s64 %d2, %d2, %d4;
)" + load + zero +
             "mov.u32 %r8, 0;\nLOOP:\n" + body + R"(
add.s32 %r8, %r8, 1;
setp.lt.s32 %p1, %r8, 256;
@%p1 bra LOOP;
st.global.f32 [%d2], %f0;
ret;
}
)";
  return work;
}

/// The best launch of at least three, after one that makes shadow pages. The
/// time is the processor's, so that other programs on the machine do not count.
static Result<Speed> bestOf(Device &device, const Kernel &kernel,
                            const std::vector<Operand> &operands,
                            double multiplyAdds, double seconds) {
  auto loaded = device.load(kernel);
  if (!loaded)
    return loaded.error();
  Speed best;
  const std::clock_t begin = std::clock();
  auto secondsSince = [](std::clock_t before) {
    return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  };
  for (int run = 0; run < 3 || secondsSince(begin) < seconds; ++run) {
    const std::clock_t before = std::clock();
    auto report = device.launch(**loaded, operands, LaunchOptions());
    const double took = secondsSince(before);
    if (!report)
      return report.error();
    if (!report->ok())
      return Error("bench: " + report->findings[0].text());
    if (!run)
      continue;
    best.threadInstructions =
        std::max(best.threadInstructions,
                 static_cast<double>(report->threadInstructions) / took);
    best.multiplyAdds = std::max(best.multiplyAdds, multiplyAdds / took);
  }
  return best;
}

/// Moderate floats, and moderate pairs of bf16.
static Result<uint64_t> allocateWords(Device &device, int64_t words,
                                      const std::string &name) {
  std::vector<uint32_t> values(static_cast<size_t>(words));
  for (uint32_t k = 0; k < values.size(); ++k)
    values[k] = 0x3f003f80u | (k * 37 & 0x7f) | (k * 11 & 0x7f) << 16;
  auto address = device.allocate(values.size() * 4, name);
  if (!address)
    return address.error();
  if (Result<void> ok =
          device.write(*address, values.data(), values.size() * 4);
      !ok)
    return ok.error();
  return *address;
}

static Result<Speed> measure(const Workload &work, double seconds) {
  Kernel kernel;
  kernel.ptx = work.ptx;
  LaunchRecord &record = kernel.launch;
  record.kernel = "k";
  record.target = "sm_90a";
  record.block = {work.threads, 1, 1};
  record.grid[0] = IntExpr(work.blocks);
  std::unique_ptr<Device> device = makeEmulator();
  std::vector<Operand> operands;
  for (int i = 0; i < 2; ++i) {
    const std::string name = i ? "y" : "x";
    record.operands.push_back(
        {name, DType::F32, 1, RecordOperand::Role::State});
    record.args.push_back({KernelArg::Kind::Pointer, i, IntExpr(0)});
    auto address = allocateWords(*device, work.elements, name);
    if (!address)
      return address.error();
    operands.push_back({{DType::F32, {work.elements}, {1}}, *address});
  }
  return bestOf(*device, kernel, operands, work.multiplyAdds, seconds);
}

/// c = a b^T of one tile by the sample with 128 x 256 tiles: 4096 deep.
static Result<Speed> measureTile(double seconds) {
  constexpr int64_t m = 128, n = 256, k = 4096;
  Kernel kernel;
  kernel.ptx = tileSamplePtx;
  json record = json::parse(tileSampleRecord);
  record.erase("call");
  auto launch = readLaunchRecord(record.dump(), "the sample");
  if (!launch)
    return launch.error();
  kernel.launch = launch.take();
  std::unique_ptr<Device> device = makeEmulator();
  std::vector<Operand> operands;
  const Dims shapes[] = {{m, k}, {n, k}, {m, n}};
  for (size_t i = 0; i < 3; ++i) {
    auto address = allocateWords(*device, shapes[i][0] * shapes[i][1] / 2,
                                 kernel.launch.operands[i].name);
    if (!address)
      return address.error();
    operands.push_back({contiguous(DType::BF16, shapes[i]), *address});
  }
  return bestOf(*device, kernel, operands, static_cast<double>(m * n * k),
                seconds);
}

static std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown processor";
}

static Result<int> benchEmulator(const Options &options) {
  json result = {{"processor", processorName()}};
  if (!options.json)
    print("%s, one core, all checks\n", processorName().c_str());
  for (const Workload &work : {streaming(), tensorCore()}) {
    Result<Speed> speed = measure(work, options.seconds);
    if (!speed)
      return speed.error();
    json entry = {
        {"thread_instructions_per_second", speed->threadInstructions}};
    if (work.multiplyAdds > 0) {
      entry["multiply_adds_per_second"] = speed->multiplyAdds;
      entry["tile_128x256x4096_seconds"] =
          128.0 * 256 * 4096 / speed->multiplyAdds;
      if (!options.json)
        print("%s: %.0f M multiply-adds/s (a tile of 128x256x4096 in %.2f s)\n",
              work.name.c_str(), speed->multiplyAdds / 1e6,
              128.0 * 256 * 4096 / speed->multiplyAdds);
    } else if (!options.json) {
      print("%s: %.0f M thread-instructions/s\n", work.name.c_str(),
            speed->threadInstructions / 1e6);
    }
    result[work.name] = entry;
  }
  Result<Speed> tile = measureTile(options.seconds);
  if (!tile)
    return tile.error();
  const double tileSeconds = 128.0 * 256 * 4096 / tile->multiplyAdds;
  result["matmul tile"] = {{"multiply_adds_per_second", tile->multiplyAdds},
                           {"tile_128x256x4096_seconds", tileSeconds}};
  if (!options.json)
    print("wgmma bf16 matmul: one tile of 128x256x4096 in %.2f s "
          "(%.0f M multiply-adds/s)\n",
          tileSeconds, tile->multiplyAdds / 1e6);
  if (options.json)
    print("%s\n", result.dump(1).c_str());
  return 0;
}

Command tandem::tools::benchCommand(CLI::App &parent,
                                    const harness::PeerHost &peers) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(parent, "bench", "Measure speed on this machine",
                             "tandem bench run harness/bench/suites/gemv.json");
  app->require_subcommand(1);
  CLI::App *emulator =
      app->add_subcommand("emulator", "The emulator, with all checks");
  addSeconds(emulator, options->seconds, "Least time for each")
      ->capture_default_str();
  emulator->add_flag("--json", options->json, "Print JSON");
  const Command run = benchRunCommand(*app, peers);
  const Command hardware = benchHardwareCommand(*app);
  return {app, [options, run, hardware] {
            return run.app->parsed()        ? run.run()
                   : hardware.app->parsed() ? hardware.run()
                                            : benchEmulator(*options);
          }};
}
