//===- tandem-tile-bench.cpp - Where the time from tile to PTX goes -------===//
//
//   tandem-tile-bench FILE.mlir [target] [runs]
//
// Compiles a file of tile kernels repeatedly, each time in a fresh context, and
// prints the median of each stage. With `-` in place of runs it prints PTX.
//
//===----------------------------------------------------------------------===//
#include "codegen/lower/TileToPtx.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace tandem;

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: tandem-tile-bench FILE [target] [runs|-]\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  const std::string target = argc > 2 ? argv[2] : "sm_90a";
  const std::string runs = argc > 3 ? argv[3] : "21";
  std::vector<std::string> names;
  std::vector<std::vector<double>> times;
  for (int run = 0; run < (runs == "-" ? 1 : std::stoi(runs)); ++run) {
    const auto start = std::chrono::steady_clock::now();
    Result<PtxOutput> output = tileTextToPtx(text.str(), argv[1], target);
    const double total = std::chrono::duration<double, std::milli>(
                             std::chrono::steady_clock::now() - start)
                             .count();
    if (!output) {
      std::fprintf(stderr, "%s\n", output.error().text().c_str());
      return 1;
    }
    if (runs == "-") {
      std::fputs(output->ptx.c_str(), stdout);
      return 0;
    }
    output->timings.push_back({"total (with parsing)", total});
    times.resize(output->timings.size());
    names.resize(output->timings.size());
    for (size_t i = 0; i < output->timings.size(); ++i) {
      names[i] = output->timings[i].stage;
      times[i].push_back(output->timings[i].milliseconds);
    }
  }
  for (size_t i = 0; i < times.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    std::printf("%-22s median %7.2f ms  least and most %.2f .. %.2f\n",
                names[i].c_str(), times[i][times[i].size() / 2],
                times[i].front(), times[i].back());
  }
  return 0;
}
