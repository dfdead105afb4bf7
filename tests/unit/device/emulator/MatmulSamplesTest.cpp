//===- MatmulSamplesTest.cpp - The Hopper matmuls of samples/ptx ----------===//
//
// Each runs right and clean on a small product, by one cluster, so that its
// stages are used again; and each variant that lacks one wait, fence, arrival,
// barrier or expected count is reported. A dropped line keeps its number.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/device/emulator/Harness.h"

#include "refops/core/DType.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

using namespace tandem;
using namespace tandem::test;

namespace {
constexpr const char *names[] = {
    "matmul_128x64",
    "matmul_128x64_dependent",
    "matmul_128x64_cluster_1x2",
    "matmul_128x128",
    "matmul_128x128_dependent",
    "matmul_128x128_cluster_1x2",
    "matmul_128x256",
    "matmul_128x256_dependent",
    "matmul_128x256_cluster_1x2",
    "matmul_128x256_cluster_2x1",
    "matmul_256x128_cluster_1x2",
};

struct Product {
  int64_t m = 136, n = 520, k = 200;
};

Kernel kernelNamed(const std::string &name) {
  std::string path = std::string(TANDEM_SOURCE_DIR) + "/samples/ptx/" + name;
  Kernel kernel;
  kernel.ptx = readFile(path + ".ptx");
  nlohmann::json record = nlohmann::json::parse(readFile(path + ".json"));
  record.erase("call");
  auto launch = readLaunchRecord(record.dump(), name);
  REQUIRE_MESSAGE(bool(launch), launch.error().text());
  kernel.launch = launch.take();
  // One cluster: it goes through all tiles.
  kernel.launch.grid[0] = IntExpr(kernel.launch.cluster[0]);
  return kernel;
}

uint16_t bfloat(double value) {
  uint16_t bits = 0;
  storeDouble(DType::BF16, value, &bits);
  return bits;
}

/// Small integers, so that every sum is exact and any order gives the same
/// bits.
std::vector<int> integers(int64_t count, unsigned seed) {
  std::vector<int> values(static_cast<size_t>(count));
  for (int &value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<int>(seed >> 24) % 5 - 2;
  }
  return values;
}
std::vector<uint8_t> bfloats(const std::vector<int> &values) {
  std::vector<uint16_t> bits;
  for (int value : values)
    bits.push_back(bfloat(value));
  return bytesOf(bits);
}

/// Runs c = a b^T; the number of wrong elements is in \p wrong.
Result<LaunchReport> runProduct(const Kernel &kernel, const Product &p,
                                const LaunchOptions &options, int64_t &wrong) {
  auto device = makeEmulator();
  auto loaded = device->load(kernel);
  if (!loaded)
    return loaded.error();
  std::vector<int> a = integers(p.m * p.k, 1), b = integers(p.n * p.k, 2);
  std::vector<std::vector<uint8_t>> bytes = {
      bfloats(a), bfloats(b),
      std::vector<uint8_t>(static_cast<size_t>(p.m * p.n) * 2)};
  Dims shapes[] = {{p.m, p.k}, {p.n, p.k}, {p.m, p.n}};
  std::vector<Operand> operands;
  for (size_t i = 0; i < 3; ++i) {
    auto address = device->allocate(bytes[i].size(), std::string(1, "abc"[i]));
    REQUIRE(bool(address));
    REQUIRE(bool(i < 2
                     ? device->write(*address, bytes[i].data(), bytes[i].size())
                     : device->fill(*address, 0x55, bytes[i].size(), false)));
    operands.push_back({contiguous(DType::BF16, shapes[i]), *address});
  }
  auto report = device->launch(**loaded, operands, options);
  if (!report)
    return report;
  REQUIRE(bool(
      device->read(operands[2].address, bytes[2].data(), bytes[2].size())));
  auto c = valuesOf<uint16_t>(bytes[2]);
  wrong = 0;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      int sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += a[static_cast<size_t>(i * p.k + k)] *
               b[static_cast<size_t>(j * p.k + k)];
      wrong += c[static_cast<size_t>(i * p.n + j)] != bfloat(sum);
    }
  return report;
}

/// The PTX without the \p nth line that contains \p needle, -1: the last one,
/// replaced by \p instead. Gives the line's number.
int edit(std::string &ptx, const std::string &needle, int nth,
         const std::string &instead = "") {
  size_t at = nth < 0 ? ptx.rfind(needle) : 0;
  for (int i = 0; nth >= 0; ++i) {
    at = ptx.find(needle, at);
    REQUIRE_MESSAGE(at != std::string::npos, needle);
    if (i == nth)
      break;
    ++at;
  }
  REQUIRE_MESSAGE(at != std::string::npos, needle);
  size_t begin = ptx.rfind('\n', at) + 1, end = ptx.find('\n', at);
  int line =
      1 + static_cast<int>(std::count(ptx.begin(), ptx.begin() + begin, '\n'));
  // `... %p4, [...]` becomes a predicate that is true.
  std::string replacement = instead;
  if (size_t predicate = ptx.find("%p", at);
      instead == "true" && predicate < end) {
    std::string name = ptx.substr(predicate, ptx.find(',', at) - predicate);
    replacement = "setp.eq.u32 " + name + ", 0, 0;";
  }
  ptx.replace(begin, end - begin, replacement);
  return line;
}

/// What is dropped, and what is said of it: one finding of the kind, at a line
/// with that instruction.
struct Drop {
  const char *needle;
  int nth;
  const char *instead;
  const char *kind, *at;
  const char *says = "";
};
// Waits: the producer's for an empty stage, the consumers' for a full one, for
// products and for stores. The first try_wait is the producer's.
constexpr Drop drops[] = {
    {"mbarrier.try_wait", 0, "true", "barrier", "expect_tx", "arrives 1 time"},
    {"mbarrier.try_wait", 1, "true", "async", "wgmma.mma_async"},
    {"mbarrier.try_wait", 2, "true", "async", "wgmma.mma_async"},
    {"wgmma.wait_group.sync.aligned \t1", 0, "", "race", "cp.async.bulk.tensor",
     "that the wgmma at line"},
    {"wgmma.wait_group.sync.aligned \t0", 0, "", "async", "cvt.rn.bf16x2",
     "is read before the wgmma that writes it"},
    {"cp.async.bulk.wait_group.read", 0, "", "async", "stmatrix",
     "may still read"},
    {"cp.async.bulk.wait_group.read", -1, "", "async", "global.shared::cta",
     "no cp.async.bulk.wait_group waits for it"},
    {"wgmma.fence", 0, "", "async", "wgmma.mma_async", "no wgmma.fence"},
    {"fence.proxy.async", 0, "", "async", "global.shared::cta",
     "no fence.proxy.async"},
    {"fence.mbarrier_init", 0, "", "async", "shared::cluster.global",
     "neither fence.mbarrier_init nor fence.proxy.async"},
    {"mbarrier.arrive.expect_tx", 0, "", "deadlock", "mbarrier.try_wait"},
    {"mbarrier.arrive.shared", 0, "", "deadlock", "mbarrier.try_wait"},
    {"mbarrier.arrive.shared", 1, "", "deadlock", "mbarrier.try_wait"},
    {"wgmma.commit_group", 0, "", "race", "shared::cluster.global"},
    {"wgmma.commit_group", 1, "", "async", "cvt.rn.bf16x2"},
    {"cp.async.bulk.commit_group", 0, "", "async", "stmatrix",
     "may still read"},
    {"setmaxnreg.dec", 0, "", "deadlock", "mbarrier.try_wait",
     "registers a thread"},
    {"bar.sync \t%r", 0, "", "async", "stmatrix", "may still read"},
    {"bar.sync \t%r", 1, "", "race", "global.shared::cta",
     "nothing orders the two"},
    // Without a cluster,
    {"bar.sync \t0", 0, "", "race", "mbarrier.try_wait",
     "nothing orders the two"},
    // and with one.
    {"barrier.cluster.arrive", 0, "", "barrier", "barrier.cluster.wait",
     "without having arrived"},
    {"barrier.cluster.wait", 0, "", "barrier", "barrier.cluster.arrive",
     "without having waited"},
    {"barrier.cluster.arrive", 1, "", "barrier", "barrier.cluster.wait",
     "without having arrived"},
    {"barrier.cluster.wait", 1, "", "use-after-free", "shared::cluster",
     "which has exited"},
};
// What may be dropped: products of one shape are ordered among themselves.
constexpr Drop harmless[] = {{"wgmma.fence", 1, "", "", ""}};

bool isPresent(const Kernel &kernel, const Drop &drop) {
  size_t at = kernel.ptx.find(drop.needle);
  for (int i = 0; i < drop.nth && at != std::string::npos; ++i)
    at = kernel.ptx.find(drop.needle, at + 1);
  return at != std::string::npos;
}
std::string lineOf(const std::string &text, int line) {
  std::istringstream in(text);
  std::string found;
  for (int i = 0; i < line; ++i)
    std::getline(in, found);
  return found;
}
bool fits(const Finding &finding, const Drop &drop, const std::string &ptx) {
  return finding.kind == drop.kind &&
         lineOf(ptx, finding.ptxLine).find(drop.at) != std::string::npos &&
         finding.message.find(drop.says) != std::string::npos;
}
} // namespace

TEST_SUITE("emulator matmul samples") {
  TEST_CASE("every sample runs right and clean") {
    for (const char *name : names) {
      CAPTURE(std::string(name));
      int64_t wrong = -1;
      auto report = runProduct(kernelNamed(name), Product(), {}, wrong);
      REQUIRE_MESSAGE(bool(report), report.error().text());
      CHECK_MESSAGE(report->ok(), textOf(*report));
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("and in seeded schedules") {
    for (const char *name : names)
      for (uint64_t seed = 1; seed <= 8; ++seed) {
        CAPTURE(std::string(name));
        CAPTURE(seed);
        int64_t wrong = -1;
        LaunchOptions options;
        options.scheduleSeed = seed;
        auto report =
            runProduct(kernelNamed(name), {136, 136, 136}, options, wrong);
        REQUIRE_MESSAGE(bool(report), report.error().text());
        CHECK_MESSAGE(report->ok(), textOf(*report));
        CHECK(wrong == 0);
      }
  }

  TEST_CASE("a dropped wait, fence, arrival or count is reported") {
    int count = 0;
    for (const char *name : names)
      for (const Drop &drop : drops) {
        Kernel kernel = kernelNamed(name);
        if (!isPresent(kernel, drop))
          continue;
        ++count;
        int line = edit(kernel.ptx, drop.needle, drop.nth, drop.instead);
        CAPTURE(std::string(name));
        CAPTURE(std::string(drop.needle));
        CAPTURE(drop.nth);
        CAPTURE(line);
        int64_t wrong = -1;
        LaunchOptions options;
        options.budget = 500'000'000;
        // Enough that a stage is missed, or that a signal comes after the
        // other block's exit; the rest shows in less.
        std::string kind = drop.kind;
        Product product{136, kind == "use-after-free" ? 520 : 264,
                        kind == "deadlock" ? 200 : 136};
        auto report = runProduct(kernel, product, options, wrong);
        REQUIRE_MESSAGE(bool(report), report.error().text());
        CHECK_MESSAGE(std::any_of(report->findings.begin(),
                                  report->findings.end(),
                                  [&](const Finding &finding) {
                                    return fits(finding, drop, kernel.ptx);
                                  }),
                      textOf(*report));
      }
    CHECK(count == 11 * 19 + 6 + 5 * 4);
  }

  TEST_CASE("a fence between products of one shape may be dropped") {
    for (const char *name : names)
      for (const Drop &drop : harmless) {
        Kernel kernel = kernelNamed(name);
        edit(kernel.ptx, drop.needle, drop.nth, drop.instead);
        CAPTURE(std::string(name));
        int64_t wrong = -1;
        auto report = runProduct(kernel, {136, 136, 136}, {}, wrong);
        REQUIRE_MESSAGE(bool(report), report.error().text());
        CHECK_MESSAGE(report->ok(), textOf(*report));
        CHECK(wrong == 0);
      }
  }

  TEST_CASE("one buffer for the result needs its last store read") {
    // As first generated, the 64-column kernels let one store be under way and
    // have one buffer: harmless in the measurements, and wrong.
    for (const char *name : {"matmul_128x64", "matmul_128x64_dependent",
                             "matmul_128x64_cluster_1x2"}) {
      CAPTURE(std::string(name));
      Kernel kernel = kernelNamed(name);
      int line = edit(kernel.ptx, "cp.async.bulk.wait_group.read", 0,
                      "cp.async.bulk.wait_group.read 1;");
      int64_t wrong = -1;
      auto report = runProduct(kernel, Product(), {}, wrong);
      REQUIRE_MESSAGE(bool(report), report.error().text());
      REQUIRE(!report->findings.empty());
      const Finding &first = report->findings[0];
      CHECK(first.kind == "async");
      CHECK(first.ptxLine > line);
      CHECK(first.message.find("may still read") != std::string::npos);
      CHECK(wrong > 0);
    }
  }

  TEST_CASE("a remote arrival of CTA scope after a completed wait is noted") {
    int64_t wrong = -1;
    auto report = runProduct(kernelNamed("matmul_128x64_cluster_1x2"),
                             Product(), {}, wrong);
    REQUIRE_MESSAGE(bool(report), report.error().text());
    CHECK(report->ok());
    REQUIRE(!report->notes.empty());
    CHECK(report->notes[0].kind == "scope");
    // Without a cluster the same arrival is local, and there is nothing to say.
    report = runProduct(kernelNamed("matmul_128x64"), Product(), {}, wrong);
    REQUIRE(bool(report));
    CHECK(report->notes.empty());
  }
}
