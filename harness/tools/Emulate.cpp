//===- Emulate.cpp - tandem emulate ---------------------------------------===//
//
// The launch file is a launch record (refops/core/LaunchRecord.h) with one more
// member, what the operands are in this call:
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
#include <nlohmann/json.hpp>

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
  std::string approximation = "nearest";
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

static LaunchOptions launchOptions(const Options &options, uint64_t seed) {
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
  launch.approximation = options.approximation;
  return launch;
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
  json found = json::array();
  int code = 0;
  for (int i = 0; i < options.explore && code == 0; ++i) {
    std::unique_ptr<Device> device = makeEmulator();
    auto loaded = device->load(kernel);
    if (!loaded)
      return Error(options.ptx + ": " + loaded.error().text());
    std::vector<Buffer> buffers;
    buffers.reserve(operands.size());
    std::vector<Operand> arguments;
    for (size_t o = 0; o < operands.size(); ++o) {
      Result<Buffer> buffer =
          Buffer::make(*device, kernel.launch.operands[o].name,
                       operands[o].desc, Buffer::Options());
      if (!buffer)
        return buffer.error();
      buffers.push_back(buffer.take());
      if (operands[o].isFilled)
        if (Result<void> ok =
                buffers.back().writeElements(operands[o].elements);
            !ok)
          return ok.error();
      arguments.push_back(buffers.back().operand());
    }
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    Result<LaunchReport> report =
        device->launch(**loaded, arguments, launchOptions(options, seed));
    if (!report)
      return report.error();
    for (const Finding &finding : report->findings) {
      code = exitFound;
      found.push_back({{"kind", finding.kind},
                       {"message", finding.message},
                       {"line", finding.ptxLine},
                       {"block", finding.block},
                       {"thread", finding.thread},
                       {"allocation", finding.allocation},
                       {"schedule", seed}});
      if (!options.json)
        print("%s (schedule %llu)\n", finding.text().c_str(),
              static_cast<unsigned long long>(seed));
    }
    for (const IndexError &error : report->indexErrors)
      if (!options.json)
        print("index error: step %d, row %lld\n", error.step,
              static_cast<long long>(error.row));
    if (i + 1 < options.explore && code == 0)
      continue;
    for (const auto &[name, path] : *outputs) {
      size_t o = 0;
      while (o < operands.size() && kernel.launch.operands[o].name != name)
        ++o;
      if (o == operands.size())
        return Error("--output: no operand is named '" + name + "'");
      auto elements = buffers[o].readElements();
      if (!elements)
        return elements.error();
      HostTensor tensor;
      tensor.desc = contiguous(operands[o].desc.dtype, operands[o].desc.shape);
      tensor.bytes = elements.take();
      if (Result<void> ok = writeFile(path, writeNpy(tensor)); !ok)
        return ok.error();
    }
    if (options.json)
      print("%s\n", json({{"findings", found},
                          {"schedules", i + 1},
                          {"thread_instructions", report->threadInstructions}})
                        .dump(1)
                        .c_str());
    else if (code == 0)
      print("%s: nothing found in %d schedule%s, %llu "
            "thread-instructions\n",
            kernel.launch.kernel.c_str(), i + 1, i ? "s" : "",
            static_cast<unsigned long long>(report->threadInstructions));
  }
  return code;
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
  app->add_option("--explore", options->explore, "Schedules to try")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app->add_option("--seed", options->seed, "First schedule; 0 is the plain one")
      ->capture_default_str();
  app->add_option("--approximation", options->approximation,
                  "Which result of an approximate instruction")
      ->capture_default_str()
      ->check(CLI::IsMember({"nearest", "low", "high", "random"}));
  app->add_option("--output", options->outputs, "Write an operand, NAME=F.npy");
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}
