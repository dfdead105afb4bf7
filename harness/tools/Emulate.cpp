//===- Emulate.cpp - tandem emulate ---------------------------------------===//
//
// The launch file is a launch record (refops/core/LaunchRecord.h), of which all
// but the kernel's name, grid and block may be absent, with one more member,
// "call" (harness/tools/CallReader.h).
//
//===----------------------------------------------------------------------===//
#include "harness/io/Files.h"
#include "harness/io/Tensors.h"
#include "harness/run/Buffer.h"
#include "harness/tools/CallReader.h"
#include "harness/tools/Subcommands.h"
#include "refops/core/JsonText.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;
using nlohmann::json;

namespace {
struct Options {
  std::string ptx, launch;
  std::vector<std::string> checks = {"memory", "race", "init", "async"};
  std::vector<std::string> outputs;
  int explore = 1;
  uint64_t seed = 0;
  std::string approximation; // all in turn when empty
  int64_t budget = 0;
  bool json = false;
};
} // namespace

static LaunchOptions launchOptions(const Options &options, uint64_t seed,
                                   const std::string &approximation) {
  LaunchOptions launch;
  auto has = [&](const char *check) {
    return std::find(options.checks.begin(), options.checks.end(), check) !=
           options.checks.end();
  };
  launch.checkMemory = has("memory");
  launch.checkRaces = has("race");
  launch.checkInit = has("init");
  launch.checkAsync = has("async");
  launch.scheduleSeed = seed;
  launch.approximation = approximation;
  launch.budget = static_cast<uint64_t>(options.budget);
  return launch;
}

static json jsonOf(const Finding &finding, uint64_t schedule) {
  json result = {{"kind", finding.kind},
                 {"message", finding.message},
                 {"kernel", finding.kernel},
                 {"line", finding.ptxLine},
                 {"source", finding.source},
                 {"block", finding.block},
                 {"thread", finding.thread},
                 {"address", finding.address},
                 {"allocation", finding.allocation},
                 {"schedule", schedule}};
  if (const std::optional<FindingSide> &side = finding.side)
    result["other"] = {{"access", side->access},
                       {"line", side->ptxLine},
                       {"source", side->source},
                       {"block", side->block},
                       {"thread", side->thread}};
  return result;
}

namespace {
/// One run: what it was, and the elements of all operands after it.
struct EmulatedRun {
  uint64_t seed = 0;
  std::string approximation;
  LaunchReport report;
  std::vector<std::vector<std::byte>> elements;
};
} // namespace

static Result<EmulatedRun> runOnce(const Options &options, const Kernel &kernel,
                                   const std::vector<CallOperand> &operands,
                                   uint64_t seed,
                                   const std::string &approximation,
                                   uint8_t fill) {
  std::unique_ptr<Device> device = makeEmulator();
  auto loaded = device->load(kernel);
  if (!loaded)
    return Error(options.ptx + ": " + loaded.error().text());
  std::vector<Buffer> buffers;
  buffers.reserve(operands.size());
  std::vector<Operand> arguments;
  Buffer::Options filled;
  filled.fill = fill;
  for (size_t o = 0; o < operands.size(); ++o) {
    Result<Buffer> buffer = Buffer::make(
        *device, kernel.launch.operands[o].name, operands[o].desc, filled);
    if (!buffer)
      return buffer.error();
    buffers.push_back(buffer.take());
    if (operands[o].elements)
      if (Result<void> ok = buffers.back().writeElements(*operands[o].elements);
          !ok)
        return ok.error();
    arguments.push_back(buffers.back().operand());
  }
  Result<LaunchReport> report = device->launch(
      **loaded, arguments, launchOptions(options, seed, approximation));
  if (!report)
    return report.error();
  EmulatedRun outcome{seed, approximation, report.take(), {}};
  for (Buffer &buffer : buffers) {
    auto elements = buffer.readElements();
    if (!elements)
      return elements.error();
    outcome.elements.push_back(elements.take());
  }
  return outcome;
}

/// `'y' differs in 3 of 256 elements, first in element 7` for each operand
/// whose bits differ between two runs.
static std::vector<std::string>
differences(const LaunchRecord &record,
            const std::vector<CallOperand> &operands, const EmulatedRun &a,
            const EmulatedRun &b) {
  std::vector<std::string> result;
  for (size_t o = 0; o < operands.size(); ++o) {
    if (record.operands[o].role == RecordOperand::Role::In)
      continue;
    const size_t size = dtypeSize(record.operands[o].dtype);
    size_t count = a.elements[o].size() / size, wrong = 0, first = 0;
    for (size_t i = 0; i < count; ++i)
      if (std::memcmp(&a.elements[o][i * size], &b.elements[o][i * size],
                      size) != 0) {
        first = wrong ? first : i;
        ++wrong;
      }
    if (wrong)
      result.push_back("'" + record.operands[o].name + "' differs in " +
                       std::to_string(wrong) + " of " + std::to_string(count) +
                       " elements, first in element " + std::to_string(first));
  }
  return result;
}

/// The file of each operand that is written.
using OutputFiles = std::map<size_t, std::string>;

static Result<OutputFiles> outputsFrom(const Options &options,
                                       const LaunchRecord &record) {
  auto pairs = pairsFrom(options.outputs, "--output");
  if (!pairs)
    return pairs.error();
  OutputFiles outputs;
  for (const auto &[name, path] : *pairs) {
    size_t o = 0;
    while (o < record.operands.size() && record.operands[o].name != name)
      ++o;
    if (o == record.operands.size())
      return Error("--output: no operand is named " + quote(name));
    outputs[o] = path;
  }
  return outputs;
}

static Result<void> writeOutputs(const OutputFiles &outputs,
                                 const std::vector<CallOperand> &operands,
                                 const EmulatedRun &outcome) {
  std::vector<std::string> texts;
  std::vector<FileContents> files;
  for (const auto &[o, path] : outputs) {
    HostTensor tensor;
    tensor.desc = contiguous(operands[o].desc.dtype, operands[o].desc.shape);
    tensor.bytes = outcome.elements[o];
    texts.push_back(writeNpy(tensor));
  }
  for (const auto &[o, path] : outputs)
    files.push_back({path, texts[files.size()]});
  return writeFiles(files);
}

/// Schedules, fill patterns and members of the envelope in turn: two schedules
/// with different fills for each member. Schedules must agree bit for bit;
/// members may differ, which is said.
static Result<int> explore(const Options &options, const Kernel &kernel,
                           const std::vector<CallOperand> &operands,
                           const OutputFiles &outputs) {
  // "fused" contracts plain products and sums, as ptxas may.
  static const std::vector<std::string> members = {"nearest", "fused", "low",
                                                   "high", "random"};
  json found = json::array(), notes = json::array(), differs = json::array();
  std::map<std::string, EmulatedRun> first; // by member
  std::string plain;                        // the first member
  std::set<std::string> said;
  int code = 0, runs = 0;
  uint64_t instructions = 0;
  std::string printed;
  for (int i = 0; i < options.explore && code == 0; ++i, ++runs) {
    const std::string member =
        options.approximation.empty()
            ? members[static_cast<size_t>(i / 2) % members.size()]
            : options.approximation;
    Result<EmulatedRun> outcome = runOnce(
        options, kernel, operands, options.seed + static_cast<uint64_t>(i),
        member, i % 2 ? 0x55 : 0xAA);
    if (!outcome)
      return outcome.error();
    for (const Finding &finding : outcome->report.findings) {
      code = exitFound;
      found.push_back(jsonOf(finding, outcome->seed));
      if (!options.json)
        print("%s (schedule %llu)\n", finding.text().c_str(),
              static_cast<unsigned long long>(outcome->seed));
    }
    for (const Finding &note : outcome->report.notes)
      if (said.insert(note.text()).second) {
        notes.push_back(jsonOf(note, outcome->seed));
        if (!options.json)
          print("note: %s\n", note.text().c_str());
      }
    for (const IndexError &error : outcome->report.indexErrors)
      if (!options.json)
        print("index error: step %d, row %lld\n", error.step,
              static_cast<long long>(error.row));
    if (i == 0) {
      printed = outcome->report.output;
      instructions = outcome->report.threadInstructions;
      if (!options.json && !printed.empty())
        print("%s", printed.c_str());
      if (Result<void> ok = writeOutputs(outputs, operands, *outcome); !ok)
        return ok.error();
    }
    auto compare = [&](const EmulatedRun &with, bool isPermitted) {
      for (const std::string &what :
           differences(kernel.launch, operands, with, *outcome)) {
        std::string text =
            what + " between schedules " + std::to_string(with.seed) + " (" +
            with.approximation + ") and " + std::to_string(outcome->seed) +
            " (" + outcome->approximation + ")" +
            (isPermitted ? ", which is permitted" : "");
        differs.push_back({{"message", text}, {"permitted", isPermitted}});
        if (!isPermitted)
          code = exitFound;
        if (!options.json)
          print("%s: %s: %s\n", kernel.launch.kernel.c_str(),
                isPermitted ? "note" : "difference", text.c_str());
      }
    };
    auto same = first.find(member);
    if (same != first.end()) {
      // The random member goes by the schedule's seed.
      compare(same->second, member == "random");
      continue;
    }
    if (first.empty())
      plain = member;
    else
      compare(first.at(plain), true);
    first.emplace(member, outcome.take());
  }
  if (options.json)
    print("%s\n", json({{"findings", found},
                        {"notes", notes},
                        {"differences", differs},
                        {"schedules", runs},
                        {"output", printed},
                        {"thread_instructions", instructions}})
                      .dump(1)
                      .c_str());
  else if (code == 0)
    print("%s: nothing found in %d schedule%s, %llu thread-instructions\n",
          kernel.launch.kernel.c_str(), runs, runs == 1 ? "" : "s",
          static_cast<unsigned long long>(instructions));
  return code;
}

static Result<int> run(const Options &options) {
  Result<std::string> ptx = readFile(options.ptx);
  if (!ptx)
    return ptx.error();
  Result<std::string> text = readFile(options.launch);
  if (!text)
    return text.error();
  Result<json> document = parseJson(*text, options.launch);
  if (!document)
    return document.error();
  json call = json::object();
  if (document->is_object() && document->contains("call")) {
    call = std::move((*document)["call"]);
    document->erase("call");
  }
  // Who has only a PTX file leaves out what a foreign kernel does not have. A
  // file without a kernel is no record, and is left as it is.
  if (document->is_object() && document->contains("kernel")) {
    LaunchRecord usual;
    usual.target = "sm_90a";
    const json defaults = json::parse(writeLaunchRecord(usual));
    for (const char *member :
         {"target", "operands", "args", "cluster", "shared_bytes",
          "preconditions", "ctas_communicate", "contract"})
      if (!document->contains(member))
        (*document)[member] = defaults[member];
  }
  Result<LaunchRecord> record =
      readLaunchRecord(document->dump(), options.launch);
  if (!record)
    return record.error();
  auto operands = readCall(*record, call, options.launch);
  if (!operands)
    return operands.error();
  auto outputs = outputsFrom(options, *record);
  if (!outputs)
    return outputs.error();
  Kernel kernel;
  kernel.ptx = ptx.take();
  kernel.launch = record.take();
  return explore(options, kernel, *operands, *outputs);
}

Command tandem::tools::emulateCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "emulate", "Run any PTX file under the sanitizer",
      "tandem emulate f.ptx --launch f.json --explore 10\n"
      "  (f.json: the record of `tandem compile --launch`, with a \"call\" "
      "member:\n"
      "   \"call\": {\"x\": {\"shape\": [4, 64], \"file\": \"x.npy\"}, "
      "\"y\": {\"shape\": [4, 64]}})");
  app->add_option("ptx", options->ptx, "PTX file")->required();
  app->add_option("--launch", options->launch, "Launch record and call")
      ->required();
  app->add_option("--check", options->checks,
                  "What to check: memory, race, init, async")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"memory", "race", "init", "async"}));
  addNumber(app, "--explore", options->explore, 1, 1000000,
            "Schedules to try, with both fill patterns and all members of the "
            "envelope")
      ->capture_default_str();
  addSeed(app, options->seed, "First schedule; 0 is the plain one");
  app->add_option("--approximation", options->approximation,
                  "Which result of an approximate instruction; without it, "
                  "each in turn")
      ->check(CLI::IsMember({"nearest", "low", "high", "random", "fused"}));
  addNumber(app, "--budget", options->budget, 0, int64_t(1) << 62,
            "Thread-instructions after which a launch is stopped (0: 20 G)");
  app->add_option("--output", options->outputs, "Write an operand, NAME=F.npy");
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
