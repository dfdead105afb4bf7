//===- PtxasTest.cpp - What ptxas says about our PTX ----------------------===//
#include "Recipes.h"

#include "codegen/TunedSchedules.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace tandem;
using namespace tandem::tests;

static std::string findPtxas() {
  for (const char *path : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"})
    if (std::filesystem::exists(path))
      return path;
  return "";
}

static std::string assemble(const std::string &ptxas, const Kernel &kernel) {
  std::string file = (std::filesystem::temp_directory_path() /
                      ("tandem_ptxas_" + std::to_string(getpid()) + ".ptx"))
                         .string();
  std::ofstream(file) << kernel.ptx;
  std::string command = ptxas + " -v -arch=" + kernel.launch.target + " " +
                        file + " -o /dev/null 2>&1";
  std::string output;
  FILE *pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  char buffer[512];
  while (size_t read = fread(buffer, 1, sizeof buffer, pipe))
    output.append(buffer, read);
  int status = pclose(pipe);
  std::filesystem::remove(file);
  INFO(output);
  CHECK(status == 0);
  return output;
}

TEST_SUITE("codegen") {
  TEST_CASE(
      "ptxas assembles a kernel of each op, row-wise ones without spills") {
    std::string ptxas = findPtxas();
    if (ptxas.empty()) {
      MESSAGE("SKIPPED: there is no ptxas on this machine");
      return;
    }
    for (DType dtype : {DType::F32, DType::BF16, DType::F8E4M3})
      for (const Recipe &recipe : oneOfEach(dtype)) {
        CAPTURE(recipe.name);
        auto program = compileTypical(recipe);
        std::string output = assemble(ptxas, *program->launches[0].kernel);
        CHECK(output.find(" 0 bytes spill stores") != std::string::npos);
      }
    for (int64_t cols : {4096, 128256}) {
      TensorType x{DType::BF16, {Dim(std::string("M")), cols}},
          w{DType::BF16, {cols}};
      for (auto &[op, inputs] :
           std::vector<std::pair<Opcode, std::vector<TensorType>>>{
               {Opcode::SOFTMAX, {x}},
               {Opcode::LAYERNORM, {x, w, w}},
               {Opcode::SAMPLE_ARGMAX, {x}}}) {
        Result<Recipe> recipe = singleOpRecipe(op, inputs);
        REQUIRE(bool(recipe));
        auto program = compileTypical(*recipe);
        std::string output = assemble(ptxas, *program->launches[0].kernel);
        CHECK(output.find(" 0 bytes spill stores") != std::string::npos);
      }
    }
  }

  TEST_CASE("ptxas spills in no schedule that the compiler comes with") {
    std::string ptxas = findPtxas();
    if (ptxas.empty()) {
      MESSAGE("SKIPPED: there is no ptxas on this machine");
      return;
    }
    const auto records = readTuned(shippedTuned(), "codegen/tune/tuned.json");
    REQUIRE(bool(records));
    for (const TunedSchedule &record : *records) {
      CAPTURE(record.key);
      CompileOptions options;
      options.target = record.target;
      const auto program = compileTypical(record.recipe, options, record.dims);
      for (const ProgramLaunch &launch : program->launches)
        CHECK(assemble(ptxas, *launch.kernel).find(" 0 bytes spill stores") !=
              std::string::npos);
    }
  }

  TEST_CASE("ptxas neither spills nor serialises an asynchronous product") {
    std::string ptxas = findPtxas();
    if (ptxas.empty()) {
      MESSAGE("SKIPPED: there is no ptxas on this machine");
      return;
    }
    const std::string inputs = tensor("x", "bfloat16", "\"M\", 4096") + "," +
                               tensor("W", "bfloat16", "4096, 4096") + "," +
                               tensor("bias", "bfloat16", "4096") + "," +
                               tensor("r", "bfloat16", "\"M\", 4096");
    const std::string output = tensor("y", "bfloat16", "\"M\", 4096");
    const char *plain =
        R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}], "out": "final"})";
    const char *fused =
        R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}, {"in": 2}], "out": 0},
           {"op": "gelu", "args": [{"s": 0}], "out": 1},
           {"op": "add", "args": [{"s": 1}, {"in": 3}], "out": "final"})";
    for (const char *steps : {plain, fused})
      for (const std::map<std::string, std::string> &set :
           std::vector<std::map<std::string, std::string>>{
               {{"tile_n", "64"}},
               {{"tile_n", "128"}},
               {{"tile_n", "256"}},
               {{"tile_m", "256"}, {"tile_n", "128"}},
               {{"tile_n", "256"}, {"cluster_m", "2"}},
               {{"tile_n", "128"}, {"cluster_n", "2"}}}) {
        CompileOptions options;
        options.set = set;
        auto program = compileTypical(
            steps == plain
                ? chain(tensor("x", "bfloat16", "\"M\", 4096") + "," +
                            tensor("W", "bfloat16", "4096, 4096"),
                        output, plain)
                : chain(inputs, output, fused),
            options, {{"M", 4096}});
        CAPTURE(set);
        REQUIRE(program->launches.size() == 1);
        std::string said = assemble(ptxas, *program->launches[0].kernel);
        CHECK(said.find(" 0 bytes spill stores") != std::string::npos);
        // C7510 and its like: "wgmma ... serialized", "setmaxnreg ignored".
        CHECK(said.find("warning") == std::string::npos);
      }
  }
}
