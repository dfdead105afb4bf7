//===- Ops.cpp - tandem ops -----------------------------------------------===//
#include "harness/gen/Generate.h"
#include "harness/gen/Rules.h"
#include "harness/run/RealEngine.h"
#include "harness/tools/Subcommands.h"
#include "refops/Registry.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;
using nlohmann::json;

namespace {
struct Options {
  bool json = false;
  std::string device = "emulator";
};
} // namespace

static std::string_view provenanceName(refops::Provenance::Kind kind) {
  switch (kind) {
  case refops::Provenance::Kind::ByHand:
    return "by hand";
  case refops::Provenance::Kind::HighPrecision:
    return "high precision";
  case refops::Provenance::Kind::SecondFormulation:
    return "second formulation";
  }
  return "";
}

/// Targets that a small case of \p op compiles for.
static std::vector<std::string> targetsOf(const OpInfo &op) {
  std::vector<std::string> targets;
  if (!op.defined)
    return targets;
  if (op.code == Opcode::NOP)
    return {"sm_80", "sm_90a"};
  Result<CaseSpec> spec =
      specOf({op.code == Opcode::FUSED ? "chain" : std::string(op.mnemonic),
              {},
              std::nullopt});
  if (!spec)
    return targets;
  auto operands = typicalOperands(spec->recipe, spec->dims);
  if (!operands)
    return targets;
  for (const char *target : {"sm_80", "sm_90a"}) {
    CompileOptions options;
    options.target = target;
    if (compile(spec->recipe, operands->first, operands->second, options))
      targets.push_back(target);
  }
  return targets;
}

static Result<int> run(const Options &options) {
  Result<OpenedEngine> opened = openEngine(options.device);
  if (!opened)
    return opened.error();
  const Engine &engine = opened->engine;
  Device &device = *opened->device;
  const std::map<std::string, int64_t> counts = fuzzCounts();
  json all = json::array();
  bool isMissing = false;
  for (const OpInfo &op : allOps()) {
    const refops::RefOp *reference = refops::find_op(op.code);
    // FUSED is the recipe itself: its kernels are those of chains.
    const bool isDefined = op.defined || op.code == Opcode::FUSED;
    const std::vector<std::string> targets =
        op.code == Opcode::FUSED ? std::vector<std::string>{"sm_80", "sm_90a"}
                                 : targetsOf(op);
    Admission admission;
    if (isDefined && reference && !targets.empty())
      admission = admit(op, engine, device);
    // What only recipes may say has no number.
    const bool isOpcode = op.code < Opcode::count;
    json entry = {
        {"code", isOpcode ? json(static_cast<int>(op.code)) : json()},
        {"name", op.mnemonic},
        {"signature", op.signature},
        {"summary", op.summary},
        {"reference", reference != nullptr},
        {"known_answers", reference ? reference->knownAnswers.size() : 0},
        {"provenance", json::array()},
        {"lowering", isDefined && !targets.empty()},
        {"targets", targets},
        {"admitted", admission.isAdmitted},
        {"fuzzed", counts.contains(std::string(op.mnemonic))
                       ? counts.at(std::string(op.mnemonic))
                       : 0}};
    if (!admission.failure.empty())
      entry["failure"] = admission.failure;
    if (reference)
      for (const refops::KnownAnswer &known : reference->knownAnswers)
        entry["provenance"].push_back({{"name", known.name},
                                       {"by", provenanceName(known.from.kind)},
                                       {"how", known.from.how}});
    isMissing |= !admission.isAdmitted;
    all.push_back(std::move(entry));
  }
  if (options.json) {
    print("%s\n", all.dump(1).c_str());
    return isMissing ? exitFound : 0;
  }
  print("code op                 answers targets        admitted  fuzzed  "
        "signature\n");
  std::string missing;
  for (const json &op : all) {
    std::string targets;
    for (const json &target : op["targets"])
      targets += (targets.empty() ? "" : " ") + target.get<std::string>();
    const auto name = op["name"].get<std::string>();
    if (!op["reference"].get<bool>() && !op["lowering"].get<bool>()) {
      missing += (missing.empty() ? "" : ", ") + name;
      continue;
    }
    const std::string code =
        op["code"].is_null() ? "-" : std::to_string(op["code"].get<int>());
    print("%4s %-18s %7d %-14s %-8s %7lld  %s\n", code.c_str(), name.c_str(),
          op["known_answers"].get<int>(), targets.c_str(),
          op["admitted"].get<bool>() ? "yes" : "NO",
          static_cast<long long>(op["fuzzed"].get<int64_t>()),
          op["signature"].get<std::string>().c_str());
    if (op.contains("failure"))
      print("     %s\n", op["failure"].get<std::string>().c_str());
  }
  if (!missing.empty())
    print("missing: %s\n", missing.c_str());
  return isMissing ? exitFound : 0;
}

Command tandem::tools::opsCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app =
      addCommand(parent, "ops",
                 "List every op: reference, known answers, lowering, admission",
                 "tandem ops --json");
  app->add_flag("--json", options->json, "Print JSON");
  addDeviceOption(app, options->device);
  return {app, [options] { return run(*options); }};
}
