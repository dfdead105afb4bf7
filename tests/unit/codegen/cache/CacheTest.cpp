//===- CacheTest.cpp - Kernels in memory and on disk ----------------------===//
#include "../Recipes.h"

#include "codegen/CacheControl.h"
#include "codegen/cache/BuildIdentity.h"
#include "codegen/cache/Cache.h"
#include "codegen/cache/KernelCache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace tandem;
using namespace tandem::tests;
namespace fs = std::filesystem;

namespace {
/// A cache directory of the test's own.
class Directory {
public:
  Directory() {
    path = fs::temp_directory_path() /
           ("tandem_cache_test_" + std::to_string(getpid()));
    if (const char *old = std::getenv("TANDEM_CACHE_DIR"))
      before = old;
    setenv("TANDEM_CACHE_DIR", path.c_str(), 1);
    codegen::memoryClear();
  }
  ~Directory() {
    unsetenv("TANDEM_CACHE_LIMIT");
    if (before.empty())
      unsetenv("TANDEM_CACHE_DIR");
    else
      setenv("TANDEM_CACHE_DIR", before.c_str(), 1);
    std::error_code ignored;
    fs::remove_all(path, ignored);
    codegen::memoryClear();
  }
  fs::path path;
  std::string before;
};
} // namespace

TEST_SUITE("codegen/cache") {
  TEST_CASE("a second compilation comes from memory, then from disk") {
    Directory directory;
    Recipe recipe = oneOfEach(DType::F32)[6];
    CHECK(!compileTypical(recipe)->fromCache);
    CHECK(cacheInfo().entries == 1);
    auto second = compileTypical(recipe);
    CHECK(second->fromCache);
    codegen::memoryClear();
    auto third = compileTypical(recipe);
    CHECK(third->fromCache);
    CHECK(third->launches[0].kernel->ptx == second->launches[0].kernel->ptx);
    CHECK(third->launches[0].kernel->launch ==
          second->launches[0].kernel->launch);
    CHECK(third->launches[0].kernel->stages ==
          second->launches[0].kernel->stages);
  }

  TEST_CASE("sizes of a class share a kernel, classes do not") {
    Directory directory;
    auto compileCols = [](int64_t rows, int64_t cols) {
      TensorType x{DType::F32, {rows, cols}};
      Result<Recipe> recipe = singleOpRecipe(Opcode::SOFTMAX, {x});
      REQUIRE(bool(recipe));
      return compileTypical(*recipe)->fromCache;
    };
    CHECK(!compileCols(3, 40));
    CHECK(compileCols(900, 60));
    CHECK(!compileCols(3, 68)); // a larger tile
    CHECK(!compileCols(3, 43)); // no 16-byte accesses
    CHECK(!compileCols(3, 9000));
    CHECK(compileCols(3, 200000));
  }

  TEST_CASE("a damaged entry is ignored and replaced") {
    Directory directory;
    Recipe recipe = oneOfEach(DType::F32)[0];
    (void)compileTypical(recipe);
    for (const auto &entry : fs::directory_iterator(directory.path)) {
      std::fstream file(entry.path(), std::ios::in | std::ios::out);
      file.seekp(200);
      file << "damage";
    }
    codegen::memoryClear();
    CHECK(!compileTypical(recipe)->fromCache);
    codegen::memoryClear();
    CHECK(compileTypical(recipe)->fromCache);
  }

  TEST_CASE("the least recently used entries go beyond the limit") {
    Directory directory;
    setenv("TANDEM_CACHE_LIMIT", "40000", 1);
    std::string body(1000, 'x');
    for (int i = 0; i < 200; ++i)
      codegen::cacheWrite(codegen::cacheKey(std::to_string(i)), body);
    CacheInfo info = cacheInfo();
    CHECK(info.limitBytes == 40000);
    // Swept at every 64th write.
    CHECK(info.entries <= 40 + 64);
    CHECK(info.entries > 0);
    REQUIRE(bool(clearCache()));
    CHECK(cacheInfo().entries == 0);
  }

  TEST_CASE("a limit is kept in the directory, and the variable wins") {
    Directory directory;
    std::string body(1000, 'x');
    for (int i = 0; i < 20; ++i)
      codegen::cacheWrite(codegen::cacheKey(std::to_string(i)), body);
    CHECK(cacheInfo().entries == 20);
    REQUIRE(bool(setCacheLimit(11000)));
    CHECK(cacheInfo().limitBytes == 11000);
    CHECK(cacheInfo().entries == 10);
    CHECK(cacheLimitProblem() == "");
    setenv("TANDEM_CACHE_LIMIT", "2M", 1);
    CHECK(cacheInfo().limitBytes == 2 << 20);
    setenv("TANDEM_CACHE_LIMIT", "much", 1);
    CHECK(cacheInfo().limitBytes == 512 << 20);
    CHECK(cacheLimitProblem() ==
          "TANDEM_CACHE_LIMIT: expected a size such as 100000, 512M or 2G, at "
          "most 1024T, got 'much'");
    CHECK(*parseCacheSize("3G") == uint64_t(3) << 30);
    CHECK(*parseCacheSize("0") == 0);
    for (const char *bad :
         {"", "-1", "M", "1.5G", "1MB", "2048T", "99999999999999999999"})
      CHECK_FALSE_MESSAGE(bool(parseCacheSize(bad)), bad);
  }

  TEST_CASE("the build's identity is that of the contents") {
    // 20 bytes of the linker's hash, or 32 of ours.
    const std::string id = codegen::buildIdentity();
    CHECK((id.size() == 40 || id.size() == 64 || id.size() == 16));
    CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(buildId() == id);
  }

  TEST_CASE("many threads compile at once") {
    Directory directory;
    std::vector<Recipe> recipes = oneOfEach(DType::BF16);
    std::vector<std::string> ptx(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < ptx.size(); ++t)
      threads.emplace_back([&, t] {
        for (size_t r = 0; r < recipes.size(); ++r) {
          auto operands = typicalOperands(recipes[r], {{"M", 4}});
          auto program =
              compile(recipes[r], operands->first, operands->second, {});
          ptx[t] += program ? (*program)->launches[0].kernel->ptx : "failed";
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::string &text : ptx)
      CHECK(text == ptx[0]);
    CHECK(ptx[0].find("failed") == std::string::npos);
  }

  TEST_CASE("without a directory nothing is cached and nothing fails") {
    Directory directory;
    setenv("TANDEM_CACHE_DIR", "/proc/none", 1);
    CHECK(!compileTypical(oneOfEach(DType::F32)[1])->fromCache);
    CHECK(cacheInfo().entries == 0);
  }
}
