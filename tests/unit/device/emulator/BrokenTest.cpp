//===- BrokenTest.cpp - Mistakes in CUDA sources are named ----------------===//
//
// Each kernel of tests/inputs/cuda/broken.cu has one mistake; the line that has
// to be named says `BUG` and the kind. NvccTest has the kernels without one.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/device/emulator/Corpus.h"

#include <set>

using namespace tandem;
using namespace tandem::test;

/// The line and kind of the first mark after \p function begins.
static std::pair<std::string, std::string>
markAfter(const std::string &function) {
  static const std::string text =
      readFile(TANDEM_TEST_INPUTS "/cuda/broken.cu");
  size_t at = text.find(" " + function + "(");
  REQUIRE_MESSAGE(at != std::string::npos, function);
  size_t mark = text.find("// BUG ", at);
  REQUIRE_MESSAGE(mark != std::string::npos, function);
  auto line = std::count(text.begin(), text.begin() + long(mark), '\n') + 1;
  size_t kind = mark + 7;
  return {"broken.cu:" + std::to_string(line),
          text.substr(kind, text.find('\n', kind) - kind)};
}

static void expectFinding(const Corpus &corpus, const std::string &function,
                          uint64_t seed = 0) {
  Case c = corpus.launch();
  c.options.scheduleSeed = seed;
  c.options.budget = 20'000'000;
  auto [line, kind] = markAfter(function);
  auto report = test::run(c);
  REQUIRE_MESSAGE(bool(report), report.error().text());
  bool isNamed = false;
  for (const Finding &finding : report->findings)
    isNamed |= finding.kind == kind &&
               (finding.source == line ||
                (finding.side && finding.side->source == line));
  CAPTURE(function);
  CAPTURE(line);
  CAPTURE(kind);
  CHECK_MESSAGE(isNamed, textOf(*report));
}

static std::vector<int> numbers(int n) {
  std::vector<int> values;
  for (int i = 0; i < n; ++i)
    values.push_back(i % 10);
  return values;
}
static const std::vector<int> one = {0};

TEST_SUITE("broken kernels") {
  TEST_CASE("races are found in every order of warps and blocks") {
    for (uint64_t seed : {0, 1, 2}) {
      CAPTURE(seed);
      auto x = numbers(256);
      auto broken = [&](const char *name) {
        return Corpus("broken", name).threads(64);
      };
      expectFinding(broken("tree_without_barrier").threads(128).in(x).out(one),
                    "tree_without_barrier", seed);
      expectFinding(
          broken("warp_without_sync").threads(32).in(x).out(numbers(32)),
          "warp_without_sync", seed);
      expectFinding(broken("halo_without_barrier").in(x).out(numbers(64)),
                    "halo_without_barrier", seed);
      expectFinding(broken("last_block_without_fence")
                        .blocks(4)
                        .in(x)
                        .scratch(16)
                        .state(one, one)
                        .out(one),
                    "last_block_without_fence", seed);
      expectFinding(
          broken("tile_reused_too_early").in(x).out(numbers(64)).ints({4}),
          "tile_reused_too_early", seed);
      expectFinding(broken("plain_flag")
                        .blocks(2)
                        .threads(1)
                        .scratch(4)
                        .state(one, one)
                        .out(one),
                    "plain_flag", seed);
      expectFinding(broken("lock_of_one_block")
                        .blocks(3)
                        .threads(1)
                        .state(one, one)
                        .state(one, one),
                    "lock_of_one_block", seed);
      expectFinding(
          broken("counts_without_atomics").in(x).state(numbers(4), one),
          "counts_without_atomics", seed);
      expectFinding(
          broken("blocks_overlap").blocks(4).threads(32).out(numbers(125)),
          "blocks_overlap", seed);
      expectFinding(broken("producer_runs_ahead").in(x).out(numbers(128)),
                    "producer_runs_ahead", seed);
    }
  }

  TEST_CASE("accesses outside, askew and of nothing") {
    auto x = numbers(64);
    auto broken = [&](const char *name) {
      return Corpus("broken", name).threads(32);
    };
    expectFinding(broken("one_past_the_end")
                      .blocks(2)
                      .in(std::vector<float>(50))
                      .out(std::vector<float>(50))
                      .ints({50}),
                  "one_past_the_end");
    expectFinding(broken("left_neighbour_of_0").in(x).out(x),
                  "left_neighbour_of_0");
    expectFinding(broken("shared_index_too_large").in(x).out(x),
                  "shared_index_too_large");
    expectFinding(broken("vector_at_odd_place")
                      .in(std::vector<float>(200))
                      .out(std::vector<float>(128)),
                  "vector_at_odd_place");
    expectFinding(broken("shared_not_filled").in(x).out(x),
                  "shared_not_filled");
    expectFinding(broken("sum_into_nothing").in(x).scratch(4),
                  "sum_into_nothing");
    expectFinding(broken("local_not_filled").in(x).out(x), "local_not_filled");
  }

  TEST_CASE("threads that wait or go astray") {
    auto x = numbers(64);
    auto broken = [&](const char *name) {
      return Corpus("broken", name).threads(32);
    };
    expectFinding(broken("barrier_in_a_branch").out(numbers(32)),
                  "barrier_in_a_branch");
    expectFinding(broken("shuffle_in_a_branch").out(numbers(32)),
                  "shuffle_in_a_branch");
    expectFinding(
        broken("barrier_counts_too_many").threads(96).out(numbers(96)),
        "barrier_counts_too_many");
    expectFinding(broken("copy_not_waited_for").in(numbers(128)).out(x),
                  "copy_not_waited_for");
    expectFinding(broken("waits_for_the_older_copy").in(x).out(x),
                  "waits_for_the_older_copy");
    expectFinding(broken("recursion_without_end").out(x), "endless");
    expectFinding(
        broken("pointer_to_nothing").in(std::vector<uint64_t>{64}).out(x),
        "pointer_to_nothing");
    expectFinding(broken("waits_for_nobody").threads(1).state(one, one),
                  "waits_for_nobody");
    Case c = broken("failing_assert").in(x).out(x).launch();
    std::string text;
    CHECK(kindsOf(c, &text) == std::vector<std::string>{"assert"});
    CHECK(text.find("assertion 'x[threadIdx.x] != 7' failed at broken.cu:") !=
          std::string::npos);
  }
}
