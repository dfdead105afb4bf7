//===- Space.cpp - Schedules that tuning may try --------------------------===//
#include "harness/tune/Space.h"

#include <array>

using namespace tandem;
using namespace tandem::tune;

std::span<const Axis> tandem::tune::axesOf(std::string_view family) {
  static const std::array<std::pair<std::string_view, std::vector<Axis>>, 6>
      spaces = {{{"row-wise",
                  {{"warps", {"1", "2", "4", "8", "16", "32"}},
                   {"chunk", {"4096", "8192", "16384", "32768"}},
                   {"block", {"1024", "2048", "4096", "8192", "16384"}},
                   {"rows", {"1", "2", "4", "8", "16"}},
                   {"early", {"1", "2"}}}},
                 {"matmul",
                  {{"tile_m", {"16", "32", "64", "128"}},
                   {"tile_n", {"32", "64", "128"}},
                   {"tile_k", {"16", "32", "64"}},
                   {"warps", {"2", "4", "8"}}}},
                 {"asynchronous matmul",
                  {{"tile_n", {"64", "128", "256"}},
                   {"tile_m", {"64", "128", "256"}},
                   {"cluster_m", {"1", "2"}},
                   {"cluster_n", {"1", "2"}},
                   {"group", {"1", "2", "4", "8", "16", "32"}},
                   {"stages", {"3", "4", "5", "6", "7", "8"}},
                   {"registers", {"232", "240"}}}},
                 {"gemv",
                  {{"tile_n", {"4", "8", "16", "32", "64"}},
                   {"warps", {"1", "2", "4", "8", "16"}},
                   {"tile_k", {"256", "512", "1024", "2048", "4096"}},
                   {"early", {"1", "2"}}}},
                 {"attention",
                  {{"warps", {"1", "2", "4", "8"}},
                   {"splits", {"1", "2", "4", "8", "16", "32", "64"}},
                   {"tiles", {"1", "2", "4"}},
                   {"columns", {"8", "16", "32"}},
                   {"heads", {"1", "2", "4", "8"}},
                   {"early", {"1", "2"}}}},
                 {"recurrence",
                  {{"columns", {"8", "16", "32", "64"}},
                   {"warps", {"1", "2", "4", "8"}},
                   {"early", {"1", "2"}}}}}};
  for (const auto &[name, axes] : spaces)
    if (name == family)
      return axes;
  return {};
}

std::string tandem::tune::misfit(const Program &program) {
  constexpr int64_t mostShared = 227 << 10, mostThreads = 1024;
  for (const ProgramLaunch &launch : program.launches) {
    const LaunchRecord &record = launch.kernel->launch;
    const int64_t shared = static_cast<int64_t>(record.sharedBytes);
    if (shared > mostShared)
      return record.kernel + ": " + std::to_string(shared) +
             " bytes of shared memory, a multiprocessor gives a CTA " +
             std::to_string(mostShared);
    int64_t threads = 1;
    for (int64_t extent : record.block)
      threads *= extent;
    if (threads > mostThreads)
      return record.kernel + ": " + std::to_string(threads) +
             " threads, a CTA has " + std::to_string(mostThreads);
  }
  return "";
}
