//===- MutationTest.cpp - Broken PTX gives a message or a run -------------===//
//
// Valid PTX with a few bytes, words or lines changed is loaded and, where it
// still loads, run for a short while. Whatever comes out is fine but a crash, a
// hang or an error of memory (the build with sanitizers runs this too).
// TANDEM_MUTATIONS=1000000 TANDEM_SEED=2 runs more and others by hand.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/device/emulator/Harness.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

using namespace tandem;
using namespace tandem::test;

namespace {
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return n ? next() % n : 0; }
};

/// A file with one of its kernels, and the arguments that its parameters ask
/// for.
struct Seed {
  std::string text, kernel;
  std::vector<bool> isPointer;
};
} // namespace

static std::vector<Seed> seedsOf(const std::string &text) {
  std::vector<Seed> seeds;
  for (size_t at = 0; (at = text.find(".entry ", at)) != std::string::npos;) {
    at += 7;
    size_t open = text.find('(', at), close = text.find(')', at);
    if (open == std::string::npos || close < open)
      break;
    Seed seed;
    seed.text = text;
    seed.kernel = text.substr(at, open - at);
    std::string params = text.substr(open, close - open);
    for (size_t p = 0; (p = params.find(".param .", p)) != std::string::npos;) {
      p += 8;
      seed.isPointer.push_back(params.compare(p + 1, 2, "64") == 0);
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

static std::vector<Seed> allSeeds() {
  std::vector<std::string> files;
  for (const char *folder : {"/ptx/nvcc", "/ptx/conformance"})
    for (const auto &entry : std::filesystem::directory_iterator(
             std::string(TANDEM_TEST_INPUTS) + folder))
      if (entry.path().extension() == ".ptx")
        files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<Seed> seeds;
  for (const std::string &file : files)
    for (Seed &seed : seedsOf(readFile(file)))
      seeds.push_back(std::move(seed));
  return seeds;
}

/// Begin and end of the word at \p at.
static std::pair<size_t, size_t> wordAt(const std::string &text, size_t at) {
  auto isWord = [&](size_t i) {
    return std::isalnum(static_cast<unsigned char>(text[i])) ||
           text[i] == '_' || text[i] == '%' || text[i] == '.';
  };
  size_t begin = at, end = at;
  while (begin > 0 && isWord(begin - 1))
    --begin;
  while (end < text.size() && isWord(end))
    ++end;
  return {begin, end};
}

static void mutate(std::string &text, const Seed &seed, Random &random) {
  static const char *words[] = {"0",          "-1",        "0xffffffffffffffff",
                                "4294967296", "%r1",       "%rd1",
                                "%p1",        "{",         "}",
                                "[",          "]",         "(",
                                ")",          ";",         ",",
                                ".b128",      ".pred",     ".v4",
                                ".align 0",   ".shared",   "@!",
                                "_",          "call",      "bra",
                                "ret",        "0f7fc00000"};
  // Most places of a file are comments and other kernels: look near this one.
  size_t begin = text.find(".entry " + seed.kernel);
  begin = begin == std::string::npos || random.below(8) == 0 ? 0 : begin;
  size_t at = begin + random.below(std::min<size_t>(text.size() - begin, 3000));
  if (text.empty())
    return;
  switch (random.below(7)) {
  case 0:
    text[at] = static_cast<char>(random.next());
    break;
  case 1:
    text.erase(at, 1 + random.below(20));
    break;
  case 2:
    text.insert(at, words[random.below(std::size(words))]);
    break;
  case 3: {
    // One word for another of the file.
    auto [first, last] = wordAt(text, at);
    auto [from, to] = wordAt(text, random.below(text.size()));
    text.replace(first, last - first, text.substr(from, to - from));
    break;
  }
  case 4: {
    auto [first, last] = wordAt(text, at);
    text.replace(first, last - first, words[random.below(std::size(words))]);
    break;
  }
  case 5: {
    // A line twice, or somewhere else.
    size_t first = text.rfind('\n', at), last = text.find('\n', at);
    first = first == std::string::npos ? 0 : first;
    std::string line =
        text.substr(first, last == std::string::npos ? last : last - first);
    if (random.below(2))
      text.erase(first, line.size());
    text.insert(random.below(text.size() + 1), line);
    break;
  }
  default:
    if (random.below(20) == 0)
      text.resize(at);
    else
      text[at] = "0123456789%.,;[]{}"[random.below(18)];
  }
}

TEST_SUITE("emulator mutations") {
  TEST_CASE("mutated PTX gives a message or a run") {
    auto number = [](const char *name, uint64_t otherwise) {
      const char *text = std::getenv(name);
      return text ? std::strtoull(text, nullptr, 10) : otherwise;
    };
    const uint64_t count = number("TANDEM_MUTATIONS", 3000);
    const uint64_t first = number("TANDEM_SEED", 1);
    std::vector<Seed> seeds = allSeeds();
    REQUIRE(seeds.size() > 50);
    uint64_t loaded = 0, refused = 0;
    std::unique_ptr<Device> device;
    for (uint64_t i = 0; i < count; ++i) {
      CAPTURE(i);
      if (i % 64 == 0)
        device = makeEmulator();
      Random random{first * 1000003 + i};
      const Seed &seed = seeds[random.below(seeds.size())];
      Case c;
      c.ptx = seed.text;
      for (size_t k = 1 + random.below(3); k; --k)
        mutate(c.ptx, seed, random);
      c.name = seed.kernel;
      c.block = {64, 1, 1};
      c.grid = {2, 1, 1};
      c.sharedBytes = 1024;
      c.options.budget = 20000;
      c.options.scheduleSeed = random.below(3);
      for (bool isPointer : seed.isPointer)
        if (isPointer)
          c.buffers.emplace_back(1024);
        else
          c.integers.push_back(100);
      auto report = test::run(c, device.get());
      report ? ++loaded : ++refused;
      if (!report) {
        REQUIRE(!report.error().text().empty());
      }
    }
    // Both outcomes have to occur for this to test anything.
    CHECK(loaded > count / 20);
    CHECK(refused > count / 20);
  }
}
