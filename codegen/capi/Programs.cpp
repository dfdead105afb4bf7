//===- Programs.cpp - Compiling in C --------------------------------------===//
#include "codegen/capi/Objects.h"

#include <set>

using namespace tandem;
using namespace tandem::capi;
using nlohmann::json;

namespace {

/// The size of a symbol that nobody binds: more than one tile of a row-wise
/// kernel, and divisible by all that a schedule likes.
constexpr int64_t typicalSize = 64;

std::set<std::string> symbolsOf(const Recipe &recipe) {
  std::set<std::string> symbols;
  for (const RecipeInput &input : recipe.inputs)
    for (const Dim &dim : input.type.shape)
      if (dim.isSymbol())
        symbols.insert(dim.symbol());
  return symbols;
}

json launchJson(const ProgramLaunch &launch) {
  constexpr const char *kinds[] = {"input", "output", "temporary", "table"};
  json operands = json::array();
  for (const OperandSource &source : launch.operands)
    operands.push_back({{"kind", kinds[static_cast<size_t>(source.kind)]},
                        {"index", source.index}});
  const Kernel &kernel = *launch.kernel;
  return {{"kernel", kernel.launch.kernel},
          {"steps", launch.steps},
          {"operands", operands},
          {"ptx", kernel.ptx},
          {"stages", kernel.stages},
          {"record", json::parse(writeLaunchRecord(kernel.launch))}};
}

} // namespace

extern "C" {

tandem_status tandem_compile(const tandem_recipe *recipe, const char *text,
                             tandem_program **program, char **error) {
  return guarded(error, [&] {
    auto options = optionsFrom(text);
    if (!options)
      return fail(TANDEM_INVALID, options.error(), error);
    std::set<std::string> symbols = symbolsOf(recipe->recipe);
    for (const auto &[symbol, size] : options->dims)
      if (!symbols.contains(symbol))
        return fail(
            TANDEM_INVALID,
            Error("options.dims: the recipe has no symbol '" + symbol + "'"),
            error);
    DimBindings dims = options->dims;
    for (const std::string &symbol : symbols)
      dims.emplace(symbol, typicalSize);
    auto operands = typicalOperands(recipe->recipe, dims);
    if (!operands)
      return fail(TANDEM_INVALID, operands.error(), error);
    auto compiled = compile(recipe->recipe, operands->first, operands->second,
                            options->compile);
    if (!compiled)
      return fail(TANDEM_FAILED, compiled.error(), error);
    *program = new tandem_program{compiled.take()};
    return TANDEM_OK;
  });
}

void tandem_program_close(tandem_program *program) { delete program; }

char *tandem_program_describe(const tandem_program *handle) {
  const Program &program = *handle->program;
  json launches = json::array();
  for (const ProgramLaunch &launch : program.launches)
    launches.push_back(launchJson(launch));
  json timings = json::array();
  for (const StageTiming &timing : program.timings)
    timings.push_back({{"stage", timing.stage}, {"ms", timing.milliseconds}});
  return giveJson(json{{"name", program.recipe.name},
                       {"target", program.target},
                       {"from_cache", program.fromCache},
                       {"explanation", program.explanation},
                       {"timings", timings},
                       {"contract", program.contract()},
                       {"launches", launches}});
}

} // extern "C"
