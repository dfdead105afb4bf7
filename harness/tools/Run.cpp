//===- Run.cpp - tandem run -----------------------------------------------===//
#include "harness/compare/Compare.h"
#include "harness/compare/RulesOf.h"
#include "harness/gen/Values.h"
#include "harness/io/Files.h"
#include "harness/io/Tensors.h"
#include "harness/run/Buffer.h"
#include "harness/run/RealEngine.h"
#include "harness/tools/Subcommands.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;

namespace {
struct Options {
  std::string recipe;
  std::vector<std::string> inputs, outputs, dims, set;
  std::string device = "auto", target;
  bool check = false, noAdmission = false;
};
} // namespace

/// Values made by kind, `x=normal` or `x=normal:SEED`, sized by --dim.
static Result<std::optional<HostTensor>> generated(const RecipeInput &input,
                                                   const std::string &source,
                                                   const DimBindings &dims) {
  const std::string kind = source.substr(0, source.find(':'));
  const bool isKind =
      std::any_of(valueKinds().begin(), valueKinds().end(),
                  [&](const ValueKind &known) { return known.name == kind; });
  if (!isKind)
    return std::optional<HostTensor>();
  for (const Dim &dim : input.type.shape)
    if (dim.isSymbol() && !dims.contains(dim.symbol()))
      return Error("--input " + input.name + "=" + source + ": give '" +
                   dim.symbol() + "' a size with --dim " + dim.symbol() +
                   "=SIZE");
  HostTensor tensor;
  tensor.desc = contiguous(input.type.dtype, bindShape(input.type.shape, dims));
  if (Result<void> ok = allocateElements(tensor, "--input " + input.name); !ok)
    return ok.error();
  ValueSpec values;
  values.kind = kind;
  if (kind.size() < source.size()) {
    const char *begin = source.data() + kind.size() + 1;
    const char *end = source.data() + source.size();
    const auto [last, code] = std::from_chars(begin, end, values.seed);
    if (code != std::errc() || last != end)
      return Error("--input " + input.name + ": expected KIND:SEED, got " +
                   quote(source));
  }
  if (Result<void> ok = fillValues(values, tensor.view()); !ok)
    return ok.error();
  return std::optional<HostTensor>(std::move(tensor));
}

static Result<std::vector<HostTensor>> loadInputs(const Recipe &recipe,
                                                  const Options &options,
                                                  const DimBindings &dims) {
  auto sources = pairsFrom(options.inputs, "--input");
  if (!sources)
    return sources.error();
  std::vector<HostTensor> tensors;
  for (const RecipeInput &input : recipe.inputs) {
    const auto source = sources->find(input.name);
    if (source == sources->end())
      return Error("input '" + input.name + "': give it with --input " +
                   input.name + "=FILE.npy, expected " + input.type.describe());
    auto made = generated(input, source->second, dims);
    if (!made)
      return made.error();
    if (*made) {
      tensors.push_back(std::move(**made));
    } else {
      Result<HostTensor> tensor =
          readTensor(source->second, input.name, input.type.dtype);
      if (!tensor)
        return tensor.error();
      tensors.push_back(tensor.take());
    }
    sources->erase(source);
  }
  if (!sources->empty())
    return Error("--input: the recipe has no input named '" +
                 sources->begin()->first + "'");
  return tensors;
}

/// The outputs that each file takes, by number.
using OutputFiles = std::map<std::string, std::set<size_t>>;

/// Maps each output to its file; a lone path belongs to the only output, or to
/// all of them if it is a .safetensors file.
static Result<OutputFiles> planOutputs(const Recipe &recipe,
                                       const Options &options) {
  OutputFiles files;
  for (const std::string &word : options.outputs) {
    const size_t at = word.find('=');
    if (at == std::string::npos) {
      if (recipe.outputs.size() > 1 && !word.ends_with(".safetensors"))
        return Error("--output: the recipe has " +
                     std::to_string(recipe.outputs.size()) +
                     " outputs, expected NAME=FILE or FILE.safetensors");
      for (size_t i = 0; i < recipe.outputs.size(); ++i)
        files[word].insert(i);
      continue;
    }
    const std::string name = word.substr(0, at);
    const auto found = std::find_if(
        recipe.outputs.begin(), recipe.outputs.end(),
        [&](const RecipeOutput &output) { return output.name == name; });
    if (found == recipe.outputs.end())
      return Error("--output: the recipe has no output named " + quote(name));
    files[word.substr(at + 1)].insert(
        static_cast<size_t>(found - recipe.outputs.begin()));
  }
  for (const auto &[path, outputs] : files) {
    if (path.empty())
      return Error("--output: expected NAME=FILE, the file is missing");
    if (!path.ends_with(".safetensors") && outputs.size() > 1)
      return Error("--output: " + path + ": an npy file holds one tensor");
  }
  return files;
}

static Result<void> writeOutputs(const Recipe &recipe, const OutputFiles &files,
                                 const std::vector<HostTensor> &tensors) {
  std::vector<std::string> texts;
  for (const auto &[path, outputs] : files) {
    if (!path.ends_with(".safetensors")) {
      texts.push_back(writeNpy(tensors[*outputs.begin()]));
      continue;
    }
    std::map<std::string, HostTensor> named;
    for (size_t output : outputs)
      named[recipe.outputs[output].name] = tensors[output];
    texts.push_back(writeSafetensors(named));
  }
  std::vector<FileContents> contents;
  for (const auto &[path, outputs] : files)
    contents.push_back({path, texts[contents.size()]});
  return writeFiles(contents);
}

static Result<int> check(const Recipe &recipe, const std::vector<View> &inputs,
                         const std::vector<HostTensor> &outputs,
                         const std::vector<refops::Expected> &expected,
                         const Engine &engine) {
  int code = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto rules = rulesOf(recipe, inputs, expected[i].desc, engine.runReference);
    if (!rules)
      return rules.error();
    const Comparison comparison = compareOutput(
        recipe.outputs[i].name, expected[i], outputs[i].bytes, {}, *rules);
    const Receipt &receipt = comparison.receipt;
    print("%s: %lld elements, largest error/bound %.3f%s\n",
          receipt.output.c_str(), static_cast<long long>(receipt.elements),
          receipt.ratio, receipt.unchecked ? ", some unchecked" : "");
    if (comparison.failure) {
      print("FAILED %s, %lld of %lld are wrong\n",
            comparison.failure->message.c_str(),
            static_cast<long long>(comparison.numWrong),
            static_cast<long long>(receipt.elements));
      code = exitFound;
    }
  }
  return code;
}

static Result<int> run(const Options &options) {
  Result<Recipe> recipe = loadRecipe(options.recipe);
  if (!recipe)
    return recipe.error();
  Result<DimBindings> given = dimsFrom(options.dims, *recipe);
  if (!given)
    return given.error();
  auto set = pairsFrom(options.set, "--set");
  if (!set)
    return set.error();
  Result<OutputFiles> files = planOutputs(*recipe, options);
  if (!files)
    return files.error();
  auto inputs = loadInputs(*recipe, options, *given);
  if (!inputs)
    return inputs.error();
  std::vector<TensorDesc> descs;
  for (const HostTensor &input : *inputs)
    descs.push_back(input.desc);
  Result<DimBindings> dims = bindDims(*recipe, descs);
  if (!dims)
    return dims.error();
  Result<OpenedEngine> opened = openEngine(options.device);
  if (!opened)
    return opened.error();
  const Engine &engine = opened->engine;
  Device &device = *opened->device;
  if (!options.noAdmission)
    if (Result<void> ok = admitRecipe(*recipe, engine, device); !ok)
      return ok.error();

  std::vector<Buffer> buffers;
  buffers.reserve(inputs->size() + recipe->outputs.size());
  std::vector<Operand> inputOperands, outputOperands;
  for (size_t i = 0; i < inputs->size(); ++i) {
    Result<Buffer> buffer = Buffer::make(device, recipe->inputs[i].name,
                                         descs[i], Buffer::Options());
    if (!buffer)
      return buffer.error();
    buffers.push_back(buffer.take());
    if (Result<void> ok =
            buffers.back().writeElements(rowMajorElements((*inputs)[i]));
        !ok)
      return ok.error();
    inputOperands.push_back(buffers.back().operand());
  }
  std::vector<HostTensor> outputs;
  for (const RecipeOutput &output : recipe->outputs) {
    HostTensor tensor;
    tensor.desc =
        contiguous(output.type.dtype, bindShape(output.type.shape, *dims));
    Result<Buffer> buffer =
        Buffer::make(device, output.name, tensor.desc, Buffer::Options());
    if (!buffer)
      return buffer.error();
    buffers.push_back(buffer.take());
    outputOperands.push_back(buffers.back().operand());
    outputs.push_back(std::move(tensor));
  }
  if (auto ok = checkCall(*recipe, inputOperands, outputOperands); !ok)
    return ok.error();
  CompileOptions compileOptions;
  compileOptions.set = *set;
  compileOptions.target = !options.target.empty()     ? options.target
                          : device.supports("sm_90a") ? "sm_90a"
                                                      : "sm_80";
  auto program =
      engine.compile(*recipe, inputOperands, outputOperands, compileOptions);
  if (!program)
    return program.error();
  Result<LaunchReport> report = engine.run(device, **program, inputOperands,
                                           outputOperands, LaunchOptions());
  if (!report)
    return report.error();
  if (!report->indexErrors.empty())
    return Error("step " + std::to_string(report->indexErrors[0].step) +
                 ": row " + std::to_string(report->indexErrors[0].row) +
                 ": index outside its table");
  int code = 0;
  for (const Finding &finding : report->findings) {
    print("%s\n", finding.text().c_str());
    code = exitFound;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto elements = buffers[inputs->size() + i].readElements();
    if (!elements)
      return elements.error();
    outputs[i].bytes = elements.take();
  }
  if (options.check) {
    std::vector<View> views;
    for (HostTensor &input : *inputs)
      views.push_back(input.view());
    auto expected =
        engine.evaluate(*recipe, views, engine.contractOf(**program),
                        /*faults=*/nullptr);
    if (!expected)
      return expected.error();
    Result<int> checked = check(*recipe, views, outputs, *expected, engine);
    if (!checked)
      return checked.error();
    code = std::max(code, *checked);
  }
  if (Result<void> ok = writeOutputs(*recipe, *files, outputs); !ok)
    return ok.error();
  return code;
}

Command tandem::tools::runCommand(CLI::App &parent) {
  auto options = std::make_shared<Options>();
  CLI::App *app = addCommand(
      parent, "run", "Run a recipe on .npy or .safetensors data",
      "tandem run softmax.json --input x=logits.npy --output p.npy --check");
  app->add_option("recipe", options->recipe, "Recipe file (.json or .mlir)")
      ->required();
  app->add_option("--input", options->inputs,
                  "NAME=FILE.npy, NAME=FILE.safetensors[:TENSOR], or NAME=KIND "
                  "of generated values (normal, position, ...)");
  app->add_option("--output", options->outputs,
                  "FILE, NAME=FILE, or one .safetensors for all outputs");
  app->add_option("--dim", options->dims,
                  "Size of a symbolic dim for generated values, NAME=SIZE");
  app->add_option("--set", options->set, "Schedule parameter, NAME=VALUE");
  app->add_option("--target", options->target,
                  "sm_80 or sm_90a (default: the newest that the device runs)")
      ->check(CLI::IsMember({"sm_80", "sm_90a"}));
  addDeviceOption(app, options->device);
  app->add_flag("--check", options->check,
                "Compare with the reference; exit code 1 if it is wrong");
  app->add_flag("--no-admission", options->noAdmission,
                "Do not ask whether the ops passed their admission gate");
  return {app, [options] { return run(*options); }};
}
