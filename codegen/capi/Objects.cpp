//===- Objects.cpp - Behind the handles of the C interface ----------------===//
#include "codegen/capi/Objects.h"

#include "refops/core/JsonText.h"
#include "refops/core/TypeRules.h"

#include <cstdlib>
#include <cstring>

using namespace tandem;
using namespace tandem::capi;
using nlohmann::json;

char *capi::give(std::string_view text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  return copy;
}

tandem_status capi::fail(tandem_status status, const Error &message,
                         char **error) {
  if (error)
    *error = give(message.text());
  return status;
}

static Result<View> viewFrom(const tandem_view &view,
                             const std::string &place) {
  std::string_view name = view.dtype ? view.dtype : "";
  std::optional<DType> dtype = dtypeNamed(name);
  if (!dtype || *dtype == DType::I4)
    return Error(place + ": no tensor has the dtype '" + std::string(name) +
                 "'");
  if (view.rank < 0 || static_cast<size_t>(view.rank) > maxRank)
    return Error(place + ": rank " + std::to_string(view.rank) + ", at most " +
                 std::to_string(maxRank) + " is supported");
  TensorDesc desc;
  desc.dtype = *dtype;
  if (view.rank)
    desc.shape.assign(view.shape, view.shape + view.rank);
  if (view.strides) {
    desc.strides.assign(view.strides, view.strides + view.rank);
  } else {
    // Before products of sizes are made.
    desc.strides.assign(desc.shape.size(), 0);
    if (const std::string problem = problemOfView(desc); !problem.empty())
      return Error(place + ": " + problem);
    desc.strides = contiguousStrides(desc.shape);
  }
  if (const std::string problem = problemOfView(desc); !problem.empty())
    return Error(place + ": " + problem);
  if (!view.data && desc.extent() > 0)
    return Error(place + ": has no data");
  return View{std::move(desc), static_cast<std::byte *>(view.data)};
}

Result<std::vector<View>> capi::viewsFrom(const tandem_view *views,
                                          size_t count, std::string_view what) {
  std::vector<View> all;
  for (size_t i = 0; i < count; ++i) {
    auto view =
        viewFrom(views[i], std::string(what) + "[" + std::to_string(i) + "]");
    if (!view)
      return view.error();
    all.push_back(view.take());
  }
  return all;
}

std::vector<TensorDesc> capi::descsOf(const std::vector<View> &views) {
  std::vector<TensorDesc> descs;
  for (const View &view : views)
    descs.push_back(view.desc);
  return descs;
}

Result<Options> capi::optionsFrom(const char *text) {
  Options options;
  if (!text)
    return options;
  const Result<json> parsed = parseJson(text, "options");
  if (!parsed)
    return parsed.error();
  if (!parsed->is_object())
    return Error("options: not a JSON object");
  for (const auto &[name, value] : parsed->items()) {
    auto wrong = [&](const char *expected) {
      return Error("options." + name + ": " + describeJson(value) +
                   ", expected " + expected);
    };
    if (name == "target") {
      if (!value.is_string())
        return wrong("a target such as \"sm_90a\"");
      options.compile.target = value.get<std::string>();
      options.hasTarget = true;
    } else if (name == "fuse" || name == "stages" || name == "cache") {
      if (!value.is_boolean())
        return wrong("true or false");
      (name == "fuse"     ? options.compile.fuse
       : name == "stages" ? options.compile.keepStages
                          : options.compile.useCache) = value.get<bool>();
    } else if (name == "set") {
      if (!value.is_object())
        return wrong("an object of schedule parameters");
      for (const auto &[parameter, setting] : value.items())
        options.compile.set[parameter] =
            setting.is_string() ? setting.get<std::string>() : setting.dump();
    } else if (name == "dims") {
      if (!value.is_object())
        return wrong("an object of sizes");
      for (const auto &[symbol, size] : value.items()) {
        const std::optional<int64_t> count = integerIn(size);
        if (!count || *count < 0 || *count > maxDim)
          return Error("options.dims." + symbol + ": " + describeJson(size) +
                       ", expected a size from 0 to " + std::to_string(maxDim));
        options.dims[symbol] = *count;
      }
    } else {
      return Error("options." + name +
                   ": not one of target, fuse, set, dims, stages, cache");
    }
  }
  return options;
}

extern "C" void tandem_free(char *text) { std::free(text); }
