//===- PtxasTest.cpp - What ptxas says about our PTX ----------------------===//
#include "Recipes.h"

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
}
