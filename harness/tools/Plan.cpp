//===- Plan.cpp - tandem plan check, tandem plan run ----------------------===//
#include "harness/io/Files.h"
#include "harness/io/Tensors.h"
#include "harness/plan/RunPlan.h"
#include "harness/run/RealEngine.h"
#include "harness/tools/Subcommands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;
using nlohmann::json;

namespace {
struct Options {
  std::string plan;
  std::string device = "auto";
  std::vector<std::string> inputs, outputs;
  uint64_t seed = 0, values = 1;
  int schedules = 1;
  bool noCheck = false, json = false;
};
} // namespace

static Result<Plan> loadPlan(const std::string &path) {
  Result<std::string> text = readFile(path);
  if (!text)
    return text.error();
  return readPlan(*text, path);
}

/// Each op of the plan once.
static Result<void> admitPlan(const Plan &plan, const Engine &engine,
                              Device &device) {
  std::set<Opcode> seen;
  Error error;
  for (const PlanTask &task : plan.tasks)
    if (!task.recipe.steps.empty() && seen.insert(task.op).second)
      if (Result<void> admitted = admitRecipe(task.recipe, engine, device);
          !admitted)
        for (const std::string &message : admitted.error().messages)
          error.messages.push_back(plan.name + ": " + message);
  if (!error.messages.empty())
    return error;
  return {};
}

static Result<int> check(const Options &options) {
  Result<Plan> plan = loadPlan(options.plan);
  if (!plan)
    return plan.error();
  Result<OpenedEngine> opened = openEngine(options.device);
  if (!opened)
    return opened.error();
  const Engine &engine = opened->engine;
  Device &device = *opened->device;
  if (Result<void> admitted = admitPlan(*plan, engine, device); !admitted)
    return admitted.error();
  std::set<int64_t> queues;
  for (const PlanTask &task : plan->tasks)
    queues.insert(task.queue);
  if (options.json)
    print("%s\n", json{{"plan", plan->name},
                       {"tasks", plan->tasks.size()},
                       {"buffers", plan->buffers.size()},
                       {"counters", plan->numCounters},
                       {"queues", queues.size()}}
                      .dump(1)
                      .c_str());
  else
    print("%s: %zu tasks in %zu queues over %zu buffers and %lld counters: "
          "every task can run, every access is ordered, every op is admitted\n",
          plan->name.c_str(), plan->tasks.size(), queues.size(),
          plan->buffers.size(), static_cast<long long>(plan->numCounters));
  return 0;
}

static Result<std::map<std::string, HostTensor>>
givenTensors(const Plan &plan, const Options &options) {
  auto sources = pairsFrom(options.inputs, "--input");
  if (!sources)
    return sources.error();
  std::map<std::string, HostTensor> given;
  for (const auto &[name, source] : *sources) {
    std::optional<DType> wanted;
    for (const PlanBuffer &buffer : plan.buffers)
      if (buffer.name == name)
        wanted = buffer.type.dtype;
    Result<HostTensor> tensor = readTensor(source, name, wanted);
    if (!tensor)
      return tensor.error();
    given.emplace(name, tensor.take());
  }
  return given;
}

/// NAME=FILE of a buffer, or one .safetensors for the outputs and states.
static Result<void> writeBuffers(const Plan &plan, const Options &options,
                                 const PlanMemory &memory) {
  for (const std::string &word : options.outputs) {
    const size_t at = word.find('=');
    const std::string name = word.substr(0, at);
    std::map<std::string, HostTensor> contents;
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const BufferRole role = plan.buffers[b].role;
      const bool isResult =
          role == BufferRole::Output || role == BufferRole::State;
      if (at == std::string::npos ? isResult : plan.buffers[b].name == name)
        contents.emplace(plan.buffers[b].name, memory[b]);
    }
    const std::string path =
        at == std::string::npos ? word : word.substr(at + 1);
    const bool isSafetensors = path.ends_with(".safetensors");
    if (contents.empty())
      return Error("--output: the plan has no buffer named '" + name + "'");
    if (contents.size() > 1 && !isSafetensors)
      return Error("--output: " + path + ": an npy file holds one tensor");
    if (Result<void> written =
            writeFile(path, isSafetensors ? writeSafetensors(contents)
                                          : writeNpy(contents.begin()->second));
        !written)
      return written.error();
  }
  return {};
}

static std::optional<std::string>
firstDifference(const Plan &plan, const PlanMemory &a, const PlanMemory &b) {
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (a[i].bytes != b[i].bytes)
      return plan.buffers[i].name;
  return std::nullopt;
}

static Result<int> run(const Options &options) {
  Result<Plan> plan = loadPlan(options.plan);
  if (!plan)
    return plan.error();
  auto given = givenTensors(*plan, options);
  if (!given)
    return given.error();
  Result<PlanMemory> start = planMemory(*plan, given.take(), options.values);
  if (!start)
    return start.error();
  Result<OpenedEngine> opened = openEngine(options.device);
  if (!opened)
    return opened.error();
  const Engine &engine = opened->engine;
  Device &device = *opened->device;
  if (Result<void> admitted = admitPlan(*plan, engine, device); !admitted)
    return admitted.error();

  PlanRunOptions runOptions;
  runOptions.check = !options.noCheck;
  runOptions.target = device.supports("sm_90a") ? "sm_90a" : "sm_80";
  json report = json::array();
  std::optional<PlanMemory> first;
  int code = 0;
  for (int s = 0; s < options.schedules && code == 0; ++s) {
    runOptions.seed = options.seed + static_cast<uint64_t>(s);
    PlanMemory memory = *start;
    auto outcomes = runOnDevice(*plan, memory, engine, device, runOptions);
    if (!outcomes)
      return outcomes.error();
    double ratio = 0;
    std::string failure;
    for (const TaskOutcome &outcome : *outcomes) {
      ratio = std::max(ratio, outcome.ratio);
      if (!outcome.failure.empty())
        failure =
            "tasks[" + std::to_string(outcome.task) + "]: " + outcome.failure;
    }
    if (failure.empty() && first)
      if (const auto name = firstDifference(*plan, *first, memory))
        failure = "'" + *name + "' differs from what schedule " +
                  std::to_string(options.seed) + " gave";
    code = failure.empty() ? 0 : exitFound;
    if (!first)
      first = std::move(memory);
    report.push_back({{"seed", runOptions.seed},
                      {"tasks", outcomes->size()},
                      {"ratio", ratio},
                      {"failure", failure}});
    if (!options.json)
      print("schedule %llu: %zu tasks, largest error/bound %.3f%s%s\n",
            static_cast<unsigned long long>(runOptions.seed), outcomes->size(),
            ratio, failure.empty() ? "" : "\nFAILED ", failure.c_str());
  }
  if (options.json)
    print("%s\n", report.dump(1).c_str());
  if (Result<void> written = writeBuffers(*plan, options, *first); !written)
    return written.error();
  return code;
}

Command tandem::tools::planCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "plan", "Check and run plans: tasks ordered by counters",
      "tandem plan run samples/plans/decode_layer.json --schedules 8");
  app->require_subcommand(1);
  CLI::App *checkApp =
      addCommand(*app, "check",
                 "Refuse a plan that is malformed, unordered or stuck, or "
                 "whose ops are not admitted",
                 "tandem plan check samples/plans/decode_layer.json");
  CLI::App *runApp =
      addCommand(*app, "run", "Run a plan, one kernel a task, each checked",
                 "tandem plan run samples/plans/decode_layer.json "
                 "--input x=x.npy --output y=y.npy");
  for (CLI::App *one : {checkApp, runApp}) {
    one->add_option("plan", options->plan, "Plan file (.json)")->required();
    addDeviceOption(one, options->device);
    one->add_flag("--json", options->json, "Print JSON");
  }
  runApp->add_option("--input", options->inputs,
                     "NAME=FILE.npy or NAME=FILE.safetensors[:TENSOR]; inputs, "
                     "weights and states that are not given get normal numbers "
                     "(integers: zero)");
  runApp->add_option("--output", options->outputs,
                     "NAME=FILE of any buffer, or one .safetensors for all "
                     "outputs and states");
  runApp
      ->add_option("--seed", options->seed,
                   "Which order of the tasks that may run; 0 is the plain one")
      ->capture_default_str();
  runApp->add_option("--values", options->values, "Seed of generated values")
      ->capture_default_str();
  runApp
      ->add_option("--schedules", options->schedules,
                   "Orders to try; all must give the same bits")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  runApp->add_flag("--no-check", options->noCheck,
                   "Do not compare each task with its reference");
  return {app, [options, checkApp] {
            return checkApp->parsed() ? check(*options) : run(*options);
          }};
}
