//===- BrokenHopperTest.cpp - Hopper kernels of nvcc with one mistake -----===//
//
// The kernels of tests/inputs/cuda/hopper.cu without one wait, fence, arrival,
// count, group or barrier: reported with kind, instruction and source line,
// which may be one of a header. A dropped line keeps its number. NvccHopperTest
// runs them as they are.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/device/emulator/Corpus.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::test;

namespace {
/// The \p nth line of \p kernel that contains \p needle does nothing, or its
/// predicate is true if it is a wait.
struct Drop {
  const char *kernel, *needle;
  int nth;
  const char *kind, *at;
};
constexpr Drop drops[] = {
    {"scale_by_copies", "try_wait", 0, "async", "ld.shared"},
    {"scale_by_copies", "expect_tx", 0, "deadlock", "try_wait"},
    {"scale_by_copies", "fence.mbarrier_init", 0, "async", "cp.async.bulk"},
    {"scale_by_copies", "fence.proxy.async", 0, "async", "global.shared"},
    {"scale_by_copies", "commit_group", 0, "async", "global.shared"},
    {"scale_by_copies", "wait_group", 0, "async", "global.shared"},
    {"scale_by_copies", "bar.sync", 0, "race", "try_wait"},
    {"scale_by_copies", "bar.sync", 1, "race", "global.shared"},
    {"scale_by_library", "try_wait", 0, "async", "ld.shared"},
    {"scale_by_library", "fence.proxy.async", 0, "async", "cp.async.bulk"},
    {"sum_through_ring", "fence.mbarrier_init", 0, "async", "cp.async.bulk"},
    {"sum_through_ring", "bar.sync", 0, "race", "try_wait"},
    {"copies_of_threads", "try_wait", 0, "async", "ld.shared"},
    {"copies_of_threads", "fence.proxy.async", 0, "async", "cp.async.bulk"},
    {"transpose_box", "try_wait", 0, "async", "ld.shared"},
    {"transpose_box", "expect_tx", 0, "deadlock", "try_wait"},
    {"product_of_threads", "fence.proxy.async", 0, "async", "wgmma"},
    {"product_of_threads", "bar.sync", 0, "race", "wgmma"},
    {"product_of_threads", "wgmma.fence", 0, "async", "wgmma.mma_async"},
    {"product_of_threads", "commit_group", 0, "async", "st.global"},
    {"product_of_threads", "wait_group", 0, "async", "st.global"},
    {"product_of_bytes", "wait_group", 0, "async", "st.global"},
    {"product_of_bytes", "fence.proxy.async", 0, "async", "wgmma"},
    {"product_of_boxes", "expect_tx", 0, "deadlock", "try_wait"},
    {"product_of_boxes", "try_wait", 0, "async", "wgmma"},
    {"product_of_boxes", "wgmma.wait_group", -1, "async", "st.global"},
    {"cluster_histogram", "cluster.wait", 0, "barrier", "cluster.arrive"},
    {"cluster_histogram", "cluster.arrive", 0, "barrier", "cluster.wait"},
    {"swap_tiles", "try_wait", 0, "async", "ld.shared"},
    {"swap_tiles", "fence.proxy.async", 0, "async", "cp.async.bulk"},
    {"swap_tiles", "expect_tx", 0, "deadlock", "try_wait"},
    {"fetch_for_both", "try_wait", 0, "async", "ld.shared"},
    {"fetch_for_both", "cluster.wait", 0, "barrier", "cluster.arrive"},
    {"add_tiles", "fence.proxy.async", 0, "async", "cp.reduce"},
    {"add_tiles", "commit_group", 0, "async", "cp.reduce"},
    {"add_tiles", "wait_group", 0, "async", "cp.reduce"},
    {"add_tiles", "bar.sync", 0, "race", "cp.reduce"},
    // A counted store is a write by the sender (docs/decisions/0007).
    {"send_words", "try_wait", 0, "race", "ld.shared"},
    {"send_words", "expect_tx", 0, "deadlock", "try_wait"},
};

Case launchOf(const std::string &kernel) {
  Corpus corpus("hopper", kernel);
  auto box = [](MapType type, int64_t columns, int64_t rows, int width,
                int height, MapSwizzle swizzle) {
    TensorMapSpec map;
    map.type = type;
    map.dims = {IntExpr(columns), IntExpr(rows)};
    map.strides = {IntExpr(columns * mapTypeBytes(type))};
    map.box = {width, height};
    map.swizzle = swizzle;
    return map;
  };
  auto words = [](int n) { return make<int>(n, [](int i) { return i; }); };
  auto none = [](int n) { return zeros<int>(n); };
  if (kernel == "scale_by_copies" || kernel == "scale_by_library")
    corpus.blocks(2).threads(128).in(none(256)).out(none(256));
  else if (kernel == "sum_through_ring")
    corpus.threads(96).in(words(7 * 64)).out(none(64)).ints({7});
  else if (kernel == "copies_of_threads")
    corpus.threads(64).in(words(256)).out(none(256));
  else if (kernel == "transpose_box")
    corpus.blocks(2, 2)
        .threads(64)
        .in(words(64 * 40))
        .out(none(64 * 40))
        .map(0, box(MapType::S32, 64, 40, 32, 32, MapSwizzle::None))
        .ints({40});
  else if (kernel == "product_of_threads")
    corpus.threads(128).in(none(2048)).in(none(512)).out(none(1024));
  else if (kernel == "product_of_bytes")
    corpus.threads(128)
        .in(none(512))
        .in(none(128))
        .out(none(1024))
        .out(none(1024));
  else if (kernel == "product_of_boxes")
    corpus.threads(128)
        .in(none(64 * 160))
        .in(none(16 * 160))
        .out(none(1024))
        .map(0, box(MapType::BF16, 320, 64, 64, 64, MapSwizzle::B128))
        .map(1, box(MapType::BF16, 320, 16, 64, 16, MapSwizzle::B128))
        .ints({320});
  else if (kernel == "add_tiles")
    corpus.blocks(3).threads(64).in(none(192)).state(none(64), none(64));
  else
    corpus.blocks(2)
        .threads(64)
        .cluster(2)
        .in(words(128))
        .out(none(kernel == "cluster_histogram" ? 16 : 128));
  return corpus.launch();
}

/// Drops the line and gives its number.
int drop(std::string &ptx, const Drop &what) {
  size_t begin = ptx.find(std::string(".entry ") + what.kernel + "(");
  REQUIRE(begin != std::string::npos);
  size_t end = std::min(ptx.find("\n.visible", begin), ptx.size());
  size_t at = what.nth < 0 ? ptx.rfind(what.needle, end) : begin;
  for (int i = 0; i <= what.nth; ++i)
    at = ptx.find(what.needle, at + 1);
  REQUIRE_MESSAGE(at < end, what.kernel, " ", what.needle);
  size_t first = ptx.rfind('\n', at) + 1, last = ptx.find('\n', at);
  ptx.replace(first, last - first,
              std::string(what.needle) == "try_wait" ? "setp.eq.u32 p, 0, 0;"
                                                     : "");
  return 1 + static_cast<int>(
                 std::count(ptx.begin(), ptx.begin() + long(first), '\n'));
}
std::string lineOf(const std::string &text, int line) {
  std::istringstream in(text);
  std::string found;
  for (int i = 0; i < line; ++i)
    std::getline(in, found);
  return found;
}
} // namespace

TEST_SUITE("broken kernels") {
  TEST_CASE("a Hopper kernel that lacks one line is reported") {
    for (const Drop &what : drops) {
      Case c = launchOf(what.kernel);
      runClean(c);
      c = launchOf(what.kernel);
      int line = drop(c.ptx, what);
      c.options.budget = 20'000'000;
      CAPTURE(std::string(what.kernel));
      CAPTURE(std::string(what.needle));
      CAPTURE(line);
      auto report = test::run(c);
      REQUIRE_MESSAGE(bool(report), report.error().text());
      CHECK_MESSAGE(
          std::any_of(report->findings.begin(), report->findings.end(),
                      [&](const Finding &finding) {
                        return finding.kind == what.kind &&
                               !finding.source.empty() &&
                               lineOf(c.ptx, finding.ptxLine).find(what.at) !=
                                   std::string::npos;
                      }),
          textOf(*report));
    }
  }
}
