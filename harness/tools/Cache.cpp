//===- Cache.cpp - tandem cache -------------------------------------------===//
#include "codegen/CacheControl.h"
#include "harness/tools/Subcommands.h"
#include "refops/core/Spelling.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;

namespace {
struct Options {
  std::string action = "info";
  std::string size;
  bool json = false;
};
} // namespace

static Result<int> run(const Options &options) {
  if (options.action != "limit" && !options.size.empty())
    return Error(options.action + ": takes no size, got " +
                 quote(options.size));
  if (options.action == "clear") {
    if (Result<void> ok = clearCache(); !ok)
      return ok.error();
    const std::string folder = cacheInfo().directory;
    std::error_code code;
    if (!folder.empty())
      std::filesystem::remove_all(folder + "/verdicts", code);
    if (code)
      return Error(folder + "/verdicts: cannot be removed: " + code.message());
  }
  if (options.action == "limit" && !options.size.empty()) {
    Result<uint64_t> bytes = parseCacheSize(options.size);
    if (!bytes)
      return Error("limit: " + bytes.error().text());
    if (Result<void> ok = setCacheLimit(*bytes); !ok)
      return ok.error();
  }
  const CacheInfo info = cacheInfo();
  if (const std::string problem = cacheLimitProblem(); !problem.empty())
    complain("tandem cache: %s\n", problem.c_str());
  if (options.json) {
    print("%s\n", nlohmann::json({{"directory", info.directory},
                                  {"entries", info.entries},
                                  {"bytes", info.bytes},
                                  {"limit_bytes", info.limitBytes}})
                      .dump(1)
                      .c_str());
    return 0;
  }
  constexpr double mebibyte = 1 << 20;
  print("%s: %llu kernels, %.1f MiB of at most %.1f MiB\n",
        info.directory.empty() ? "no cache directory" : info.directory.c_str(),
        static_cast<unsigned long long>(info.entries),
        static_cast<double>(info.bytes) / mebibyte,
        static_cast<double>(info.limitBytes) / mebibyte);
  return 0;
}

Command tandem::tools::cacheCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "cache", "Show, clear or limit compiled kernels and verdicts",
      "tandem cache limit 512M");
  app->add_option(
         "action", options->action,
         "info, clear, or limit: keep at most SIZE, the least recently "
         "used kernels go first (TANDEM_CACHE_LIMIT wins over it)")
      ->capture_default_str()
      ->check(CLI::IsMember({"info", "limit", "clear"}));
  app->add_option("size", options->size, "Of limit: bytes, or 512M, 2G");
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
