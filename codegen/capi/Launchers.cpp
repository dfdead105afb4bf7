//===- Launchers.cpp - Recipes launched many times, in C ------------------===//
//
// A launcher keeps one prepared program for every kind of call that it has met.
// A call binds the one used last; only if that refuses are the others asked
// and, at last, a new one compiled.
//
//===----------------------------------------------------------------------===//
#include "codegen/capi/Objects.h"
#include "codegen/capi/RunOn.h"

#include "codegen/device/OpenDevice.h"
#include "refops/core/TypeRules.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::capi;

namespace {
/// A program that fits some calls.
struct Variant {
  std::shared_ptr<const Program> program;
  LoadedProgram kernels;
  std::unique_ptr<PreparedProgram> prepared;
};

/// More are kinds of calls that do not come back.
constexpr size_t maxVariants = 32;

using Interval = std::pair<uint64_t, uint64_t>;

Interval bytesOf(const Operand &operand) {
  const int64_t extent = operand.desc.extent();
  return {operand.address, operand.address + static_cast<uint64_t>(extent) *
                                                 dtypeSize(operand.desc.dtype)};
}

/// Whether every dim steps over all that the dims behind it reach, so that no
/// element is met twice. Other views may be fine as well.
bool isNested(const TensorDesc &desc) {
  int64_t reach = 1;
  for (size_t d = desc.rank(); d-- > 0;) {
    if (desc.shape[d] <= 1)
      continue;
    if (desc.strides[d] < reach)
      return false;
    reach += desc.strides[d] * (desc.shape[d] - 1);
  }
  return true;
}

bool overlap(const Interval &a, const Interval &b) {
  return a.first < b.second && b.first < a.second;
}
} // namespace

struct tandem_launcher {
  tandem_device *device = nullptr;
  Recipe recipe;
  Options options;
  std::mutex mutex;
  /// Those bound last; kept for their storage.
  std::vector<Operand> inputs, outputs;
  bool isBound = false;
  /// The one bound last comes first. None where the device has no streams.
  std::vector<Variant> variants;

  Device &on() const { return *device->device; }
  bool hasStreams() const { return on().queue() != nullptr; }

  Result<void> assign(const tandem_tensor *tensors, size_t count);
  /// Whether memory that is written is met twice: kernels do not see that.
  bool mayOverlap() const;
  Result<void> bind(tandem_status &status);
  Result<void> addVariant(tandem_status &status);
  Result<void> enqueue(uint64_t stream, tandem_status &status);
  Result<void> runOnHost(tandem_status &status);
};

/// Overwrites \p operand, without allocating where the rank is no larger.
static void assignOne(Operand &operand, const tandem_tensor &tensor) {
  operand.desc.dtype = static_cast<DType>(tensor.dtype);
  operand.desc.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  operand.desc.strides.resize(static_cast<size_t>(tensor.rank));
  operand.address = tensor.address;
  if (tensor.strides) {
    for (size_t d = 0; d < operand.desc.rank(); ++d)
      // A dim of one element has no stride that matters.
      operand.desc.strides[d] =
          tensor.shape[d] <= 1 && tensor.strides[d] < 0 ? 0 : tensor.strides[d];
    return;
  }
  int64_t stride = 1;
  for (size_t d = operand.desc.rank(); d-- > 0;) {
    operand.desc.strides[d] = stride;
    stride *= std::max<int64_t>(operand.desc.shape[d], 1);
  }
}

Result<void> tandem_launcher::assign(const tandem_tensor *tensors,
                                     size_t count) {
  isBound = false;
  const size_t numInputs = inputs.size();
  const auto fail = [&](size_t i, const std::string &what) {
    return Error(recipe.name + ": " +
                 (i < numInputs ? recipe.inputs[i].name
                                : recipe.outputs[i - numInputs].name) +
                 ": " + what);
  };
  if (count != numInputs + outputs.size())
    return Error(recipe.name + ": takes " + std::to_string(numInputs) +
                 " inputs and gives " + std::to_string(outputs.size()) +
                 " outputs, got " + std::to_string(count) + " tensors");
  for (size_t i = 0; i < count; ++i) {
    const tandem_tensor &tensor = tensors[i];
    if (tensor.rank < 0 || tensor.rank > static_cast<int32_t>(maxRank))
      return fail(i, "rank " + std::to_string(tensor.rank) + ", at most " +
                         std::to_string(maxRank) + " is supported");
    if (tensor.dtype < 0 || tensor.dtype > static_cast<int32_t>(DType::U8) ||
        tensor.dtype == static_cast<int32_t>(DType::I4))
      return fail(i, "no tensor has the dtype " + std::to_string(tensor.dtype));
    Operand &operand = i < numInputs ? inputs[i] : outputs[i - numInputs];
    assignOne(operand, tensor);
    for (size_t d = 0; d < operand.desc.rank(); ++d)
      if (operand.desc.shape[d] < 0 || operand.desc.strides[d] < 0 ||
          operand.desc.shape[d] > maxDim || operand.desc.strides[d] > maxDim)
        if (const std::string problem = problemOfView(operand.desc);
            !problem.empty())
          return fail(i, problem);
  }
  return {};
}

bool tandem_launcher::mayOverlap() const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Interval written = bytesOf(outputs[i]);
    for (const Operand &input : inputs)
      if (overlap(written, bytesOf(input)))
        return true;
    for (size_t k = 0; k < i; ++k)
      if (overlap(written, bytesOf(outputs[k])))
        return true;
    if (!isNested(outputs[i].desc))
      return true;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (recipe.inputs[i].isState)
      for (size_t k = 0; k < inputs.size(); ++k)
        if (k != i && overlap(bytesOf(inputs[i]), bytesOf(inputs[k])))
          return true;
  return false;
}

Result<void> tandem_launcher::addVariant(tandem_status &status) {
  if (auto dims = checkCall(recipe, inputs, outputs); !dims) {
    status = TANDEM_INVALID;
    return dims.error();
  }
  status = TANDEM_FAILED;
  const std::scoped_lock lock(device->mutex);
  CompileOptions compileOptions = options.compile;
  if (!options.hasTarget)
    compileOptions.target = bestTarget(on());
  auto program = compile(recipe, inputs, outputs, compileOptions);
  if (!program)
    return program.error();
  auto kernels = loadProgram(on(), **program);
  if (!kernels)
    return kernels.error();
  auto prepared = prepareProgram(on(), **program, *kernels, inputs, outputs);
  if (!prepared)
    return prepared.error();
  if (variants.size() == maxVariants)
    variants.pop_back();
  variants.insert(variants.begin(),
                  {program.take(), kernels.take(), prepared.take()});
  return {};
}

Result<void> tandem_launcher::bind(tandem_status &status) {
  status = TANDEM_INVALID;
  if (!hasStreams() || mayOverlap())
    if (auto dims = checkCall(recipe, inputs, outputs); !dims)
      return dims.error();
  bool isKnown = !hasStreams();
  for (size_t i = 0; i < variants.size() && !isKnown; ++i) {
    isKnown = static_cast<bool>(variants[i].prepared->bind(inputs, outputs));
    if (isKnown && i > 0)
      std::rotate(variants.begin(),
                  variants.begin() + static_cast<ptrdiff_t>(i),
                  variants.begin() + static_cast<ptrdiff_t>(i) + 1);
  }
  if (!isKnown)
    if (Result<void> made = addVariant(status); !made)
      return made;
  isBound = true;
  return {};
}

Result<void> tandem_launcher::runOnHost(tandem_status &status) {
  std::vector<View> in, out;
  for (const Operand &operand : inputs)
    in.push_back(
        {operand.desc, reinterpret_cast<std::byte *>(operand.address)});
  for (const Operand &operand : outputs)
    out.push_back(
        {operand.desc, reinterpret_cast<std::byte *>(operand.address)});
  const std::scoped_lock lock(device->mutex);
  auto ran = runOn(on(), recipe, options, in, out, status);
  if (!ran)
    return ran.error();
  Error problems = problemsOf(ran->report);
  status = ran->report.ok() ? TANDEM_INVALID : TANDEM_FAILED;
  return problems.messages.empty() ? Result<void>() : Result<void>(problems);
}

Result<void> tandem_launcher::enqueue(uint64_t stream, tandem_status &status) {
  status = TANDEM_FAILED;
  if (!isBound) {
    status = TANDEM_INVALID;
    return Error(recipe.name + ": no tensors are bound");
  }
  if (variants.empty())
    return runOnHost(status);
  return variants.front().prepared->enqueue(stream);
}

extern "C" {

tandem_status tandem_launcher_make(tandem_device *device,
                                   const tandem_recipe *recipe,
                                   const char *text, tandem_launcher **launcher,
                                   char **error) {
  return guarded(error, [&] {
    auto options = optionsFrom(text);
    if (!options)
      return fail(TANDEM_INVALID, options.error(), error);
    auto made = std::make_unique<tandem_launcher>();
    made->device = device;
    made->recipe = recipe->recipe;
    made->options = options.take();
    made->inputs.resize(recipe->recipe.inputs.size());
    made->outputs.resize(recipe->recipe.outputs.size());
    *launcher = made.release();
    return TANDEM_OK;
  });
}

void tandem_launcher_close(tandem_launcher *launcher) { delete launcher; }

tandem_status tandem_launcher_bind(tandem_launcher *launcher,
                                   const tandem_tensor *tensors, size_t count,
                                   char **error) {
  return guarded(error, [&] {
    const std::scoped_lock lock(launcher->mutex);
    tandem_status status = TANDEM_INVALID;
    Result<void> done = launcher->assign(tensors, count);
    if (done)
      done = launcher->bind(status);
    return done ? TANDEM_OK : fail(status, done.error(), error);
  });
}

tandem_status tandem_launcher_enqueue(tandem_launcher *launcher,
                                      uint64_t stream, char **error) {
  return guarded(error, [&] {
    const std::scoped_lock lock(launcher->mutex);
    tandem_status status = TANDEM_FAILED;
    const Result<void> done = launcher->enqueue(stream, status);
    return done ? TANDEM_OK : fail(status, done.error(), error);
  });
}

tandem_status tandem_launcher_call(tandem_launcher *launcher,
                                   const tandem_tensor *tensors, size_t count,
                                   uint64_t stream, char **error) {
  return guarded(error, [&] {
    const std::scoped_lock lock(launcher->mutex);
    tandem_status status = TANDEM_INVALID;
    Result<void> done = launcher->assign(tensors, count);
    if (done)
      done = launcher->bind(status);
    if (done)
      done = launcher->enqueue(stream, status);
    return done ? TANDEM_OK : fail(status, done.error(), error);
  });
}

tandem_status tandem_launcher_check(tandem_launcher *launcher, char **error) {
  return guarded(error, [&] {
    const std::scoped_lock lock(launcher->mutex);
    LaunchReport report;
    for (const Variant &variant : launcher->variants) {
      auto found = variant.prepared->indexErrors();
      if (!found)
        return fail(TANDEM_FAILED, found.error(), error);
      report.indexErrors.insert(report.indexErrors.end(), found->begin(),
                                found->end());
    }
    const Error problems = problemsOf(report);
    return problems.messages.empty() ? TANDEM_OK
                                     : fail(TANDEM_INVALID, problems, error);
  });
}

} // extern "C"
