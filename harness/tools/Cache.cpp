//===- Cache.cpp - tandem cache -------------------------------------------===//
#include "harness/io/Files.h"
#include "harness/tools/Subcommands.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;

namespace {
struct Options {
  std::string action = "info";
  std::string megabytes;
  bool json = false;
};
} // namespace

static Result<int> run(const Options &options) {
  if (options.action == "clear") {
    if (Result<void> ok = clearCache(); !ok)
      return ok.error();
    std::error_code code;
    std::filesystem::remove_all(cacheInfo().directory + "/verdicts", code);
    if (code)
      return Error(cacheInfo().directory + "/verdicts: " + code.message());
  }
  const CacheInfo info = cacheInfo();
  if (options.json) {
    print("%s\n", nlohmann::json({{"directory", info.directory},
                                  {"entries", info.entries},
                                  {"bytes", info.bytes},
                                  {"limit_bytes", info.limitBytes}})
                      .dump(1)
                      .c_str());
    return 0;
  }
  print("%s: %llu kernels, %.1f MB of at most %.0f MB\n",
        info.directory.c_str(), static_cast<unsigned long long>(info.entries),
        static_cast<double>(info.bytes) / 1e6,
        static_cast<double>(info.limitBytes) / 1e6);
  return 0;
}

Command tandem::tools::cacheCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "cache", "Show or clear compiled kernels and cached verdicts",
      "tandem cache info");
  app->add_option("action", options->action,
                  "info, limit (both show; TANDEM_CACHE_LIMIT sets the limit) "
                  "or clear")
      ->capture_default_str()
      ->check(CLI::IsMember({"info", "limit", "clear"}));
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
