//===- Verify.cpp - Whether an op is admitted -----------------------------===//
#include "harness/verify/Verify.h"

#include "harness/case/Hash.h"
#include "harness/gen/Generate.h"
#include "harness/io/Files.h"

#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using nlohmann::json;

/// Seeds of admission are their own: neither fuzzing nor tuning uses them.
static constexpr uint64_t admissionSeed = 0xad3155105eed;

/// The PTX of all kernels of \p spec, or the error that there is none.
static std::string kernelText(const CaseSpec &spec, const Engine &engine) {
  CompileOptions options;
  options.target = spec.target;
  options.fuse = spec.fuse;
  options.set = spec.set;
  const PlacedOperands placed = placeOperands(spec);
  Result<std::shared_ptr<const Program>> program =
      engine.compile(spec.recipe, placed.inputs, placed.outputs, options);
  if (!program)
    return program.error().text();
  std::string text;
  for (const ProgramLaunch &launch : (*program)->launches)
    text += launch.kernel->ptx;
  return text;
}

static json payload(const Admission &admission, const std::string &key) {
  return {{"key", key},
          {"op", admission.op},
          {"admitted", admission.isAdmitted},
          {"known_answers", admission.knownAnswers},
          {"cases", admission.cases},
          {"failure", admission.failure}};
}

static bool readVerdict(const std::string &path, const std::string &key,
                        Admission &admission) {
  Result<std::string> text = readFile(path);
  if (!text)
    return false;
  json j = json::parse(*text, nullptr, false);
  if (!j.is_object() || !j.contains("checksum"))
    return false;
  const json checksum = j["checksum"];
  j.erase("checksum");
  if (checksum != contentHash(j.dump()))
    return false;
  // A checksum is no promise about types, which nlohmann::json throws on.
  try {
    if (j.at("key").get<std::string>() != key)
      return false;
    admission.isAdmitted = j.at("admitted").get<bool>();
    admission.knownAnswers = j.at("known_answers").get<int>();
    admission.cases = j.at("cases").get<int64_t>();
    admission.failure = j.at("failure").get<std::string>();
  } catch (const json::exception &) {
    return false;
  }
  admission.fromCache = true;
  return true;
}

Admission
tandem::harness::verifyOp(const OpInfo &op, const Engine &engine,
                          Device &device,
                          const std::function<Result<int>()> &checkKnown,
                          const VerifyOptions &options) {
  Admission admission;
  admission.op = op.mnemonic;
  std::vector<std::pair<Case, CaseSpec>> cases;
  std::string identity = options.buildId + "\n" + device.info().name + "\n" +
                         device.info().driver + "\n" + admission.op + "\n";
  // NOP has no kernel; the kernels of FUSED are those of chains.
  const int numCases = op.code == Opcode::NOP ? 0 : options.casesPerOp;
  const std::string scope = op.code == Opcode::FUSED ? "chain" : admission.op;
  for (int i = 0; i < numCases; ++i) {
    Result<Case> made = randomCase(
        scope, std::nullopt, mix64(admissionSeed + static_cast<uint64_t>(i)));
    Result<CaseSpec> spec = made ? specOf(*made) : made.error();
    if (!spec) {
      admission.failure = spec.error().text();
      return admission;
    }
    identity += made->line() + "\n" + kernelText(*spec, engine) + "\n";
    cases.emplace_back(made.take(), spec.take());
  }
  const std::string key = contentHash(identity);
  const std::string path =
      options.cacheFolder + "/" + admission.op + "-" + key + ".json";
  if (!options.cacheFolder.empty() && readVerdict(path, key, admission))
    return admission;

  admission.isAdmitted = true;
  if (Result<int> known = checkKnown()) {
    admission.knownAnswers = *known;
  } else {
    admission.isAdmitted = false;
    admission.failure = known.error().text();
  }
  for (const auto &[theCase, spec] : cases) {
    if (!admission.isAdmitted)
      break;
    const Outcome outcome = runCase(spec, engine, device, options.run);
    ++admission.cases;
    if (outcome.failed()) {
      admission.isAdmitted = false;
      admission.failure = "case '" + theCase.line() +
                          "': " + outcome.failure.what.text() + ": " +
                          outcome.failure.message;
    }
  }
  if (!options.cacheFolder.empty()) {
    json j = payload(admission, key);
    const std::string checksum = contentHash(j.dump());
    j["checksum"] = checksum;
    // A verdict that cannot be kept is only computed again.
    (void)writeFile(path, j.dump(1) + "\n");
  }
  return admission;
}
