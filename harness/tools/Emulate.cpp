//===- Emulate.cpp - tandem emulate ---------------------------------------===//
//
// The launch file is a launch record (refops/core/LaunchRecord.h), of which all
// but the kernel's name, grid and block may be absent, with one more member,
// what the operands are in this call:
//
//   "call": { "x": {"shape": [4, 64], "file": "x.npy"},
//             "y": {"shape": [4, 64]} }
//
// An operand takes "strides", and "file", or "values" (a kind of
// harness/gen/Values.h) and "seed"; an output is poison when it says neither.
//
//===----------------------------------------------------------------------===//
#include "harness/gen/Values.h"
#include "harness/io/Files.h"
#include "harness/io/Tensors.h"
#include "harness/run/Buffer.h"
#include "harness/tools/Subcommands.h"

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
  uint64_t budget = 0;
  bool json = false;
};

struct CallOperand {
  TensorDesc desc;
  /// Empty when the operand starts as poison.
  std::vector<std::byte> elements;
  bool isFilled = false;
};
} // namespace

static Result<CallOperand> operandFrom(const RecordOperand &operand,
                                       const json &call,
                                       const std::string &file) {
  const std::string place = file + ": call." + operand.name;
  if (!call.is_object() || !call.contains(operand.name))
    return Error(place + ": missing, the kernel takes this operand");
  const json &entry = call[operand.name];
  CallOperand result;
  // nlohmann::json throws on members of another type; it ends here.
  try {
    if (entry.contains("file")) {
      Result<HostTensor> tensor = readTensor(entry["file"].get<std::string>(),
                                             operand.name, operand.dtype);
      if (!tensor)
        return tensor.error();
      if (tensor->desc.dtype != operand.dtype)
        return Error(place + ": expected " +
                     std::string(dtypeName(operand.dtype)) + ", the file has " +
                     std::string(dtypeName(tensor->desc.dtype)));
      result.desc = tensor->desc;
      result.elements = tensor->bytes;
      result.isFilled = true;
    } else {
      result.desc = contiguous(operand.dtype, entry.at("shape").get<Dims>());
      for (int64_t size : result.desc.shape)
        if (size < 0)
          return Error(place + ": shape: expected sizes, got " +
                       entry["shape"].dump());
      if (entry.contains("values") ||
          operand.role != RecordOperand::Role::Out) {
        ValueSpec values;
        values.kind = entry.value("values", "normal");
        values.seed = entry.value("seed", uint64_t(1));
        values.limit = entry.value("limit", int64_t(0));
        result.elements.resize(static_cast<size_t>(result.desc.numElements()) *
                               dtypeSize(operand.dtype));
        if (Result<void> ok =
                fillValues(values, {result.desc, result.elements.data()});
            !ok)
          return Error(place + ": " + ok.error().text());
        result.isFilled = true;
      }
    }
    if (entry.contains("strides"))
      result.desc.strides = entry["strides"].get<Dims>();
  } catch (const json::exception &error) {
    return Error(place + ": " + error.what());
  }
  if (result.desc.strides.size() != result.desc.shape.size())
    return Error(place + ": strides: expected " +
                 std::to_string(result.desc.shape.size()) + " numbers, got " +
                 std::to_string(result.desc.strides.size()));
  return result;
}

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
  launch.budget = options.budget;
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
    if (operands[o].isFilled)
      if (Result<void> ok = buffers.back().writeElements(operands[o].elements);
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

static Result<void>
writeOutputs(const std::map<std::string, std::string> &outputs,
             const LaunchRecord &record,
             const std::vector<CallOperand> &operands,
             const EmulatedRun &outcome) {
  for (const auto &[name, path] : outputs) {
    size_t o = 0;
    while (o < operands.size() && record.operands[o].name != name)
      ++o;
    if (o == operands.size())
      return Error("--output: no operand is named '" + name + "'");
    HostTensor tensor;
    tensor.desc = contiguous(operands[o].desc.dtype, operands[o].desc.shape);
    tensor.bytes = outcome.elements[o];
    if (Result<void> ok = writeFile(path, writeNpy(tensor)); !ok)
      return ok;
  }
  return {};
}

/// Schedules, fill patterns and members of the envelope in turn: two schedules
/// with different fills for each member. Schedules must agree bit for bit;
/// members may differ, which is said.
static Result<int> explore(const Options &options, const Kernel &kernel,
                           const std::vector<CallOperand> &operands,
                           const std::map<std::string, std::string> &outputs) {
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
      if (Result<void> ok =
              writeOutputs(outputs, kernel.launch, operands, *outcome);
          !ok)
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
  json document = json::parse(*text, nullptr, false);
  if (!document.is_object())
    return Error(options.launch + ": expected a JSON object");
  const json call = document.value("call", json::object());
  document.erase("call");
  // Who has only a PTX file leaves out what a foreign kernel does not have.
  LaunchRecord usual;
  usual.target = "sm_90a";
  const json defaults = json::parse(writeLaunchRecord(usual));
  for (const char *member :
       {"target", "operands", "args", "cluster", "shared_bytes",
        "preconditions", "ctas_communicate", "contract"})
    if (!document.contains(member))
      document[member] = defaults[member];
  Result<LaunchRecord> record =
      readLaunchRecord(document.dump(), options.launch);
  if (!record)
    return record.error();
  std::vector<CallOperand> operands;
  for (const RecordOperand &operand : record->operands) {
    Result<CallOperand> made = operandFrom(operand, call, options.launch);
    if (!made)
      return made.error();
    operands.push_back(made.take());
  }
  auto outputs = pairsFrom(options.outputs, "--output");
  if (!outputs)
    return outputs.error();
  Kernel kernel;
  kernel.ptx = ptx.take();
  kernel.launch = record.take();
  return explore(options, kernel, operands, *outputs);
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
  app->add_option("--explore", options->explore,
                  "Schedules to try, with both fill patterns and all "
                  "members of the envelope")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app->add_option("--seed", options->seed, "First schedule; 0 is the plain one")
      ->capture_default_str();
  app->add_option("--approximation", options->approximation,
                  "Which result of an approximate instruction; without it, "
                  "each in turn")
      ->check(CLI::IsMember({"nearest", "low", "high", "random", "fused"}));
  app->add_option("--budget", options->budget,
                  "Thread-instructions after which a launch is stopped");
  app->add_option("--output", options->outputs, "Write an operand, NAME=F.npy");
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
