//===- Verify.cpp - tandem verify -----------------------------------------===//
#include "harness/gen/Rules.h"
#include "harness/run/RealEngine.h"
#include "harness/tools/Subcommands.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;
using nlohmann::json;

namespace {
struct Options {
  std::vector<std::string> ops;
  std::string device = "auto";
  int cases = 40;
  bool json = false;
};
} // namespace

static Result<int> run(const Options &options) {
  std::vector<const OpInfo *> ops;
  for (const std::string &name : options.ops) {
    const OpInfo *op = findOpInfo(name);
    if (!op || (!op->defined && op->code != Opcode::FUSED)) {
      const std::string_view near = nearestOpName(name);
      return Error(
          "--op: no op is named '" + name + "'" +
          (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
    }
    ops.push_back(op);
  }
  if (ops.empty())
    for (const OpInfo &op : allOps())
      if (op.defined || op.code == Opcode::FUSED)
        ops.push_back(&op);
  Result<OpenedEngine> opened = openEngine(options.device);
  if (!opened)
    return opened.error();
  const Engine &engine = opened->engine;
  Device &device = *opened->device;
  bool allAdmitted = true;
  json all = json::array();
  for (const OpInfo *op : ops) {
    const Admission admission = admit(*op, engine, device, options.cases);
    allAdmitted &= admission.isAdmitted;
    if (options.json) {
      all.push_back({{"op", admission.op},
                     {"admitted", admission.isAdmitted},
                     {"known_answers", admission.knownAnswers},
                     {"cases", admission.cases},
                     {"failure", admission.failure},
                     {"cached", admission.fromCache}});
      continue;
    }
    print("%-18s %s: %d known answers, %lld cases%s\n", admission.op.c_str(),
          admission.isAdmitted ? "admitted" : "REFUSED", admission.knownAnswers,
          static_cast<long long>(admission.cases),
          admission.fromCache ? " (cached)" : "");
    if (!admission.failure.empty())
      print("  %s\n", admission.failure.c_str());
  }
  if (options.json)
    print("%s\n", all.dump(1).c_str());
  return allAdmitted ? 0 : exitFound;
}

Command tandem::tools::verifyCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app =
      addCommand(parent, "verify",
                 "Admit ops: known answers, then kernels against references",
                 "tandem verify --op rmsnorm softmax --device emulator");
  app->add_option("--op", options->ops, "Ops to verify (default: all)");
  addDeviceOption(app, options->device);
  app->add_option("--cases", options->cases, "Differential cases an op")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
