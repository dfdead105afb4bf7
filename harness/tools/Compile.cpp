//===- Compile.cpp - tandem compile ---------------------------------------===//
#include "harness/io/Files.h"
#include "harness/run/RealEngine.h"
#include "harness/tools/Subcommands.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;
namespace fs = std::filesystem;

namespace {
struct Options {
  std::string recipe;
  std::string target = "sm_90a";
  std::string stage = "ptx";
  std::vector<std::string> set, dims;
  std::string output, launch;
  bool timing = false, explain = false, unfused = false, noCache = false;
};
} // namespace

/// Runs ptxas on \p ptx; the result is the cubin.
static Result<std::string> assemble(const std::string &ptx,
                                    const std::string &target) {
  const fs::path folder = fs::temp_directory_path();
  const std::string stem =
      (folder / ("tandem-" + std::to_string(getpid()))).string();
  const std::string source = stem + ".ptx", result = stem + ".cubin";
  if (Result<void> ok = writeFile(source, ptx); !ok)
    return ok.error();
  const std::string arch = "-arch=" + target;
  const char *argv[] = {"ptxas",        arch.c_str(),   "-o",
                        result.c_str(), source.c_str(), nullptr};
  pid_t child = 0;
  const int code = posix_spawnp(&child, "ptxas", nullptr, nullptr,
                                const_cast<char **>(argv), environ);
  int status = 0;
  if (code == 0)
    waitpid(child, &status, 0);
  std::remove(source.c_str());
  if (code != 0)
    return Error("--emit cubin: ptxas is not installed (it comes with the CUDA "
                 "toolkit)");
  if (status != 0) {
    std::remove(result.c_str());
    return Error("--emit cubin: ptxas refused the PTX of this kernel");
  }
  Result<std::string> cubin = readFile(result);
  std::remove(result.c_str());
  return cubin;
}

static Result<std::string> stageOf(const Kernel &kernel,
                                   const Options &options) {
  if (options.stage == "ptx")
    return kernel.ptx;
  if (options.stage == "cubin")
    return assemble(kernel.ptx, options.target);
  const auto found = kernel.stages.find(options.stage);
  if (found == kernel.stages.end())
    return Error("--emit " + options.stage + ": kernel " +
                 kernel.launch.kernel + " has no such stage");
  return found->second;
}

/// `out.ptx` for kernel 1 of 3 is `out.1.ptx`.
static std::string numbered(const std::string &path, size_t index,
                            size_t count) {
  if (path.empty() || count == 1)
    return path;
  const fs::path whole(path);
  return (whole.parent_path() /
          (whole.stem().string() + "." + std::to_string(index) +
           whole.extension().string()))
      .string();
}

/// Symbols that the command line does not size are 1024: kernels are dynamic,
/// only the schedule looks at it.
static DimBindings bindings(const Recipe &recipe, DimBindings dims) {
  auto visit = [&](const TensorType &type) {
    for (const Dim &dim : type.shape)
      if (dim.isSymbol())
        dims.try_emplace(dim.symbol(), 1024);
  };
  for (const RecipeInput &input : recipe.inputs)
    visit(input.type);
  for (const RecipeOutput &output : recipe.outputs)
    visit(output.type);
  return dims;
}

using Operands = std::pair<std::vector<Operand>, std::vector<Operand>>;

/// Compiles nine times without a cache and prints the median of each stage.
static Result<void> printTiming(const Recipe &recipe, const Operands &operands,
                                CompileOptions options) {
  options.useCache = false;
  std::map<std::string, std::vector<double>> times;
  std::vector<std::string> order;
  for (int i = 0; i < 10; ++i) {
    auto program = compile(recipe, operands.first, operands.second, options);
    if (!program)
      return program.error();
    if (i == 0) // the first one also loads the compiler
      continue;
    std::map<std::string, double> sums;
    for (const StageTiming &timing : (*program)->timings) {
      if (!times.contains(timing.stage) && !sums.contains(timing.stage))
        order.push_back(timing.stage);
      sums[timing.stage] += timing.milliseconds;
    }
    double total = 0;
    for (const auto &[stage, milliseconds] : sums) {
      times[stage].push_back(milliseconds);
      total += milliseconds;
    }
    times["total"].push_back(total);
  }
  order.push_back("total");
  for (const std::string &stage : order) {
    std::vector<double> &values = times[stage];
    std::nth_element(values.begin(),
                     values.begin() + std::ptrdiff_t(values.size() / 2),
                     values.end());
    complain("%-20s %8.2f ms\n", stage.c_str(), values[values.size() / 2]);
  }
  complain("(cold, median of 9)\n");
  return {};
}

static Result<int> run(const Options &options) {
  Result<Recipe> recipe = loadRecipe(options.recipe);
  if (!recipe)
    return recipe.error();
  // A generated recipe may have a hundred thousand of them.
  constexpr size_t mostWarnings = 20;
  const size_t warnings = std::min(recipe->warnings.size(), mostWarnings);
  for (size_t i = 0; i < warnings; ++i)
    complain("warning: %s\n", recipe->warnings[i].c_str());
  if (recipe->warnings.size() > warnings)
    complain("warning: and %zu more\n", recipe->warnings.size() - warnings);
  auto set = pairsFrom(options.set, "--set");
  if (!set)
    return set.error();
  Result<DimBindings> dims = dimsFrom(options.dims, *recipe);
  if (!dims)
    return dims.error();
  if (options.stage == "insn") {
    Result<std::string> text = recipeToInsn(*recipe);
    if (!text)
      return text.error();
    if (Result<void> ok = emit(options.output, *text); !ok)
      return ok.error();
    return 0;
  }
  Result<Operands> operands =
      typicalOperands(*recipe, bindings(*recipe, *dims));
  if (!operands)
    return operands.error();
  CompileOptions compileOptions;
  compileOptions.target = options.target;
  compileOptions.fuse = !options.unfused;
  compileOptions.set = *set;
  compileOptions.keepStages =
      options.stage == "nvvm" || options.stage == "llvm";
  compileOptions.useCache = !options.noCache;
  auto program =
      compile(*recipe, operands->first, operands->second, compileOptions);
  if (!program)
    return program.error();
  // All texts first: a stage that is missing must not leave half the files.
  const auto &launches = (*program)->launches;
  std::vector<std::string> texts;
  for (const ProgramLaunch &launch : launches) {
    Result<std::string> text = stageOf(*launch.kernel, options);
    if (!text)
      return text.error();
    texts.push_back(text.take());
  }
  std::vector<std::string> records;
  for (const ProgramLaunch &launch : launches)
    records.push_back(writeLaunchRecord(launch.kernel->launch));
  std::vector<FileContents> files;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!options.output.empty())
      files.push_back({numbered(options.output, i, texts.size()), texts[i]});
    if (!options.launch.empty())
      files.push_back({numbered(options.launch, i, texts.size()), records[i]});
  }
  if (Result<void> ok = writeFiles(files); !ok)
    return ok.error();
  for (size_t i = 0; i < texts.size() && options.output.empty(); ++i) {
    if (texts.size() > 1)
      print("// kernel %zu of %zu\n", i, texts.size());
    if (Result<void> ok = emit("", texts[i]); !ok)
      return ok.error();
  }
  if (options.explain)
    for (const std::string &line : (*program)->explanation)
      complain("%s\n", line.c_str());
  if (options.timing)
    if (Result<void> ok = printTiming(*recipe, *operands, compileOptions); !ok)
      return ok.error();
  return 0;
}

Command tandem::tools::compileCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app =
      addCommand(parent, "compile", "Print any stage of a recipe's kernels",
                 "tandem compile samples/recipes/rmsnorm.json --emit ptx -o "
                 "rmsnorm.ptx --launch rmsnorm.json");
  app->add_option("recipe", options->recipe, "Recipe file (.json or .mlir)")
      ->required();
  app->add_option("--target", options->target, "sm_80 or sm_90a")
      ->capture_default_str()
      ->check(CLI::IsMember({"sm_80", "sm_90a"}));
  app->add_option("--emit", options->stage,
                  "insn, tile, nvvm, llvm, ptx or cubin (needs ptxas)")
      ->capture_default_str()
      ->check(CLI::IsMember({"insn", "tile", "nvvm", "llvm", "ptx", "cubin"}));
  app->add_option("--set", options->set, "Schedule parameter, NAME=VALUE");
  app->add_option("--dim", options->dims,
                  "Size of a symbolic dim, NAME=SIZE (default 1024)");
  app->add_option("-o,--output", options->output,
                  "File to write (several kernels: F.0.ptx, F.1.ptx)");
  app->add_option("--launch", options->launch,
                  "File for the launch record, as `tandem emulate` reads it");
  app->add_flag("--unfused", options->unfused, "One kernel a step");
  app->add_flag("--no-cache", options->noCache, "Compile anew");
  app->add_flag("--timing", options->timing,
                "Print where compile time goes: median of nine cold compiles");
  app->add_flag("--explain", options->explain,
                "Say which steps share a kernel, and why not");
  return {app, [options] { return run(*options); }};
}
