//===- Subcommands.cpp - What the subcommands share -----------------------===//
#include "harness/tools/Subcommands.h"

#include "codegen/CacheControl.h"
#include "harness/gen/Generate.h"
#include "harness/io/Files.h"
#include "harness/run/RealEngine.h"
#include "refops/Registry.h"
#include "refops/core/Spelling.h"

#include <nlohmann/json.hpp>
#include <set>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;
using nlohmann::json;

Result<OpenedEngine> tandem::tools::openEngine(const std::string &device) {
  Result<Engine> engine = realEngine(device);
  if (!engine)
    return engine.error();
  Result<std::unique_ptr<Device>> opened = engine->makeDevice();
  if (!opened)
    return opened.error();
  return OpenedEngine{engine.take(), opened.take()};
}

Result<Recipe> tandem::tools::loadRecipe(const std::string &path) {
  Result<std::string> text = readFile(path, maxRecipeBytes);
  if (!text)
    return text.error();
  if (path.ends_with(".mlir"))
    return recipeFromInsn(*text, path);
  return readRecipe(*text, path);
}

/// Empty, which keeps nothing, where there is no cache.
static std::string inCache(const char *name) {
  const std::string folder = cacheInfo().directory;
  return folder.empty() ? folder : folder + "/" + name;
}

Admission tandem::tools::admit(const OpInfo &op, const Engine &engine,
                               Device &device, int cases) {
  VerifyOptions options;
  options.casesPerOp = cases;
  options.cacheFolder = inCache("verdicts");
  options.buildId = buildId();
  return verifyOp(
      op, engine, device,
      [&]() -> Result<int> {
        const refops::RefOp *reference = refops::find_op(op.code);
        if (!reference)
          return Error(std::string(op.mnemonic) + ": no reference");
        if (Result<void> known = refops::checkKnownAnswers(*reference); !known)
          return known.error();
        return static_cast<int>(reference->knownAnswers.size());
      },
      options);
}

Result<void> tandem::tools::admitRecipe(const Recipe &recipe,
                                        const Engine &engine, Device &device) {
  std::set<Opcode> seen;
  for (const Step &step : recipe.steps) {
    if (!seen.insert(step.op).second)
      continue;
    const Admission admission = admit(opInfo(step.op), engine, device);
    if (!admission.isAdmitted)
      return Error(admission.op + ": not admitted: " + admission.failure);
  }
  return {};
}

std::map<std::string, int64_t> tandem::tools::fuzzCounts() {
  std::map<std::string, int64_t> counts;
  Result<std::string> text = readFile(inCache("fuzz-counts.json"));
  if (!text)
    return counts;
  const json j = json::parse(*text, nullptr, false);
  if (j.is_object())
    for (const auto &[op, number] : j.items())
      if (number.is_number_integer())
        counts[op] = number.get<int64_t>();
  return counts;
}

void tandem::tools::addFuzzCounts(const CampaignReport &report) {
  std::map<std::string, int64_t> counts = fuzzCounts();
  for (const auto &[op, tally] : report.ops)
    counts[op] += tally.cases;
  // Only a figure in a table: losing an update to another process is harmless.
  if (const std::string path = inCache("fuzz-counts.json"); !path.empty())
    (void)writeFile(path, json(counts).dump(1) + "\n");
}

Result<LoadedCase> tandem::tools::loadCase(const std::string &text) {
  LoadedCase loaded;
  // A file's name wins; a line has two colons and a number at least.
  Result<std::string> bytes = readFile(text);
  if (bytes) {
    Result<CaseFile> file = readCaseFile(*bytes, text);
    if (!file)
      return file.error();
    loaded.spec = file->spec;
    loaded.name = text;
    if (Result<Case> choices = parseCaseLine(file->line)) {
      Result<CaseSpec> spec = specOf(*choices);
      // A line of an older generator may mean another case by now.
      if (spec && *spec == loaded.spec)
        loaded.choices = choices.take();
    }
    return loaded;
  }
  if (text.find(':') == std::string::npos)
    return bytes.error();
  Result<Case> choices = parseCaseLine(text);
  if (!choices)
    return choices.error();
  Result<CaseSpec> spec = specOf(*choices);
  if (!spec)
    return spec.error();
  loaded.name = choices->line();
  loaded.spec = spec.take();
  loaded.choices = choices.take();
  return loaded;
}

static void printSpec(const CaseSpec &spec) {
  print("%s for %s%s\n", opsOf(spec.recipe).c_str(), spec.target.c_str(),
        spec.fuse ? "" : ", unfused");
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const ValueSpec &values = spec.inputs[i].values;
    print("  input %s: %s", spec.recipe.inputs[i].name.c_str(),
          spec.inputDesc(i).describe().c_str());
    if (spec.inputs[i].layout.offset)
      print(" at element %lld",
            static_cast<long long>(spec.inputs[i].layout.offset));
    print(", %s (seed %llu)", values.kind.c_str(),
          static_cast<unsigned long long>(values.seed));
    if (values.patch != "none")
      print(" with %s at %llu", values.patch.c_str(),
            static_cast<unsigned long long>(values.patchAt));
    print("\n");
  }
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    print("  output %s: %s", spec.recipe.outputs[i].name.c_str(),
          spec.outputDesc(i).describe().c_str());
    if (spec.outputs[i].layout.offset)
      print(" at element %lld",
            static_cast<long long>(spec.outputs[i].layout.offset));
    print("\n");
  }
  for (const Step &step : spec.recipe.steps)
    for (const auto &[name, value] : step.params.values)
      print("  %s.%s = %s\n", std::string(opInfo(step.op).mnemonic).c_str(),
            name.c_str(),
            std::visit(
                [](const auto &v) -> std::string {
                  using T = std::decay_t<decltype(v)>;
                  if constexpr (std::is_same_v<T, std::string>)
                    return v;
                  else if constexpr (std::is_same_v<T, bool>)
                    return v ? "true" : "false";
                  else if constexpr (std::is_same_v<T, OperandParam>)
                    return "operand " + std::to_string(v.operand);
                  else
                    return json(v).dump();
                },
                value)
                .c_str());
  const EnvironmentSpec &around = spec.environment;
  print("  schedule %llu, approximations %s, fill 0x%02x%s%s\n",
        static_cast<unsigned long long>(around.scheduleSeed),
        around.approximation.c_str(), around.fill,
        around.guardBands ? ", guard bands" : "",
        around.repeat ? ", launched twice" : "");
}

int tandem::tools::printOutcome(const LoadedCase &loaded,
                                const Outcome &outcome, bool asJson) {
  if (asJson) {
    json j = {{"case", loaded.name},
              {"verdict", verdictName(outcome.verdict)},
              {"reason", outcome.reason},
              {"spec", loaded.spec}};
    if (outcome.failed())
      j["failure"] = {{"class", outcome.failure.what.text()},
                      {"message", outcome.failure.message},
                      {"blame", outcome.failure.blame}};
    j["receipts"] = json::array();
    for (const Receipt &receipt : outcome.receipts)
      j["receipts"].push_back({{"output", receipt.output},
                               {"elements", receipt.elements},
                               {"unchecked", receipt.unchecked},
                               {"near_ties", receipt.nearTies},
                               {"ratio", receipt.ratio},
                               {"worst", receipt.worst},
                               {"got", receipt.got},
                               {"expected", receipt.expected},
                               {"bound", receipt.bound}});
    print("%s\n", j.dump(1).c_str());
    return outcome.failed() ? exitFound : 0;
  }
  printSpec(loaded.spec);
  for (const Receipt &receipt : outcome.receipts) {
    print("  %s: %lld elements", receipt.output.c_str(),
          static_cast<long long>(receipt.elements));
    if (receipt.unchecked)
      print(", %lld unchecked", static_cast<long long>(receipt.unchecked));
    if (receipt.worst >= 0)
      print(", largest error/bound %.3f at %lld: got %.9g, expected %.9g,"
            " bound %.3g",
            receipt.ratio, static_cast<long long>(receipt.worst), receipt.got,
            receipt.expected, receipt.bound);
    print("\n");
  }
  print("%s", std::string(verdictName(outcome.verdict)).c_str());
  if (outcome.failed())
    print(" %s\n  %s\n", outcome.failure.what.text().c_str(),
          outcome.failure.message.c_str());
  else
    print("%s%s\n", outcome.reason.empty() ? "" : ": ", outcome.reason.c_str());
  return outcome.failed() ? exitFound : 0;
}
