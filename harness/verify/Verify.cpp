//===- Verify.cpp - Whether an op is admitted -----------------------------===//
#include "harness/verify/Verify.h"

#include "harness/case/Hash.h"
#include "harness/gen/Generate.h"
#include "harness/io/Files.h"

#include <cstring>
#include <dlfcn.h>
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
  if (checksum != contentHash(j.dump()) || j.value("key", "") != key)
    return false;
  admission.isAdmitted = j.value("admitted", false);
  admission.knownAnswers = j.value("known_answers", 0);
  admission.cases = j.value("cases", int64_t(0));
  admission.failure = j.value("failure", "");
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

std::string tandem::harness::currentBuildId() {
  static const std::string id = [] {
    Dl_info info = {};
    if (!dladdr(reinterpret_cast<void *>(&currentBuildId), &info) ||
        !info.dli_fname)
      return std::string();
    Result<std::string> bytes = readFile(
        std::strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe");
    if (!bytes)
      return std::string();
    // Words at a time: the file may be 100 MB.
    uint64_t hash = bytes->size();
    for (size_t i = 0; i + 8 <= bytes->size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, bytes->data() + i, 8);
      hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    return std::to_string(mix64(hash));
  }();
  return id;
}
