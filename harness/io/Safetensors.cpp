//===- Safetensors.cpp - Named tensors in one file ------------------------===//
#include "harness/io/Files.h"
#include "harness/io/Tensors.h"
#include "refops/core/JsonText.h"
#include "refops/core/Spelling.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using nlohmann::json;

static constexpr int64_t maxElements = int64_t(1) << 41;

static const std::pair<std::string_view, DType> names[] = {
    {"F32", DType::F32},        {"F16", DType::F16},
    {"BF16", DType::BF16},      {"F8_E4M3", DType::F8E4M3},
    {"F8_E5M2", DType::F8E5M2}, {"F64", DType::F64},
    {"I32", DType::I32},        {"I64", DType::I64},
    {"I8", DType::I8},          {"U8", DType::U8}};

/// A name for messages.
static std::string nameOf(const std::string &name) {
  return isIdentifier(name) ? name : quote(name);
}

/// Sizes or offsets; nothing after a message.
static std::optional<std::vector<int64_t>>
readCounts(JsonObject &object, std::string_view member, Messages &messages) {
  const json *array = object.getArray(member);
  if (!array)
    return std::nullopt;
  std::vector<int64_t> counts;
  for (const json &entry : *array) {
    const std::optional<int64_t> count = integerIn(entry);
    if (!count || *count < 0) {
      messages.add(object.placeOf(member),
                   "expected counts, got " + describeJson(entry));
      return std::nullopt;
    }
    counts.push_back(*count);
  }
  return counts;
}

static Result<HostTensor>
readEntry(const json &entry, std::string_view data, const std::string &file,
          const std::string &name,
          std::vector<std::pair<uint64_t, uint64_t>> &ranges) {
  static constexpr std::array<std::string_view, 3> members = {"dtype", "shape",
                                                              "data_offsets"};
  Messages messages(file);
  JsonObject object(entry, name, members, messages);
  const std::optional<std::string> dtype = object.getString("dtype");
  std::optional<Dims> shape = readCounts(object, "shape", messages);
  const auto offsets = readCounts(object, "data_offsets", messages);
  std::optional<DType> type;
  for (const auto &[text, known] : names)
    if (dtype == text)
      type = known;
  if (dtype && !type)
    messages.add(object.placeOf("dtype"),
                 quote(*dtype) + " is no type that tandem knows");
  if (!messages.empty())
    return messages.error();
  const auto fail = [&](const char *member, const std::string &what) {
    return Error(file + ": " + object.placeOf(member) + ": " + what);
  };
  if (shape->size() > maxRank)
    return fail("shape", std::to_string(shape->size()) + " dims, at most " +
                             std::to_string(maxRank));
  // Counted without zeros: strides are products of the other sizes.
  int64_t nonZero = 1;
  bool isEmpty = false;
  for (int64_t size : *shape) {
    isEmpty |= size == 0;
    if (__builtin_mul_overflow(nonZero, std::max<int64_t>(size, 1), &nonZero) ||
        nonZero > maxElements)
      return fail("shape",
                  "more than " + std::to_string(maxElements) + " elements");
  }
  const uint64_t expected =
      isEmpty ? 0 : static_cast<uint64_t>(nonZero) * dtypeSize(*type);
  const auto at = [&](size_t i) {
    return static_cast<uint64_t>((*offsets)[i]);
  };
  if (offsets->size() != 2 || at(0) > at(1) || at(1) > data.size() ||
      at(1) - at(0) != expected)
    return fail("data_offsets", "expected " + std::to_string(expected) +
                                    " bytes inside the file's " +
                                    std::to_string(data.size()));
  if (expected)
    ranges.emplace_back(at(0), at(1));
  HostTensor tensor;
  tensor.desc = contiguous(*type, std::move(*shape));
  tensor.bytes.resize(expected);
  if (expected)
    std::memcpy(tensor.bytes.data(), data.data() + at(0), expected);
  return tensor;
}

Result<std::map<std::string, HostTensor>>
tandem::harness::readSafetensors(std::string_view bytes,
                                 const std::string &file) {
  uint64_t length = 0;
  if (bytes.size() >= 8)
    std::memcpy(&length, bytes.data(), 8);
  if (bytes.size() < 8 || length > bytes.size() - 8)
    return Error(file + ": the header is cut off");
  const Result<json> header = parseJson(bytes.substr(8, length), file);
  if (!header)
    return header.error();
  if (!header->is_object())
    return Error(file + ": header: expected an object, got " +
                 describeJson(*header));
  const std::string_view data = bytes.substr(8 + length);
  std::map<std::string, HostTensor> tensors;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto &[name, entry] : header->items()) {
    if (name == "__metadata__")
      continue;
    Result<HostTensor> tensor =
        readEntry(entry, data, file, nameOf(name), ranges);
    if (!tensor)
      return tensor.error();
    tensors.emplace(name, tensor.take());
  }
  // The format says so, for what two readers would understand differently.
  std::sort(ranges.begin(), ranges.end());
  uint64_t end = 0;
  for (const auto &[first, last] : ranges) {
    if (first != end)
      return Error(file +
                   ": data_offsets: expected tensors without gap or "
                   "overlap, got one at " +
                   std::to_string(first) + " after the end of another at " +
                   std::to_string(end));
    end = last;
  }
  if (end != data.size())
    return Error(file + ": expected " + std::to_string(end) +
                 " bytes of elements, got " + std::to_string(data.size()));
  return tensors;
}

std::string tandem::harness::writeSafetensors(
    const std::map<std::string, HostTensor> &tensors) {
  json header = json::object();
  uint64_t offset = 0;
  for (const auto &[name, tensor] : tensors) {
    for (const auto &[text, type] : names)
      if (type == tensor.desc.dtype)
        header[name]["dtype"] = text;
    header[name]["shape"] = tensor.desc.shape;
    header[name]["data_offsets"] = {offset, offset + tensor.bytes.size()};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  while (text.size() % 8)
    text += ' ';
  const uint64_t length = text.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  bytes += text;
  for (const auto &[name, tensor] : tensors)
    bytes.append(reinterpret_cast<const char *>(tensor.bytes.data()),
                 tensor.bytes.size());
  return bytes;
}

std::vector<std::byte> tandem::harness::rowMajorElements(HostTensor &tensor) {
  if (tensor.desc.isContiguous())
    return tensor.bytes;
  const View view = tensor.view();
  const size_t size = dtypeSize(view.desc.dtype);
  const int64_t count = view.desc.numElements();
  std::vector<std::byte> elements;
  elements.reserve(static_cast<size_t>(count) * size);
  for (int64_t e = 0; e < count; ++e)
    elements.insert(elements.end(), view.atLinear(e), view.atLinear(e) + size);
  return elements;
}

Result<void> tandem::harness::allocateElements(HostTensor &tensor,
                                               const std::string &place) {
  if (const std::string problem = problemOfView(tensor.desc); !problem.empty())
    return Error(place + ": " + problem);
  const uint64_t bytes = static_cast<uint64_t>(tensor.desc.numElements()) *
                         dtypeSize(tensor.desc.dtype);
  // What a vector throws for a size that no memory has; it ends here.
  try {
    tensor.bytes.resize(bytes);
  } catch (const std::exception &) {
    return Error(place + ": no memory for " + std::to_string(bytes) +
                 " bytes of " + tensor.desc.describe());
  }
  return {};
}

Result<HostTensor> tandem::harness::readTensor(const std::string &source,
                                               const std::string &name,
                                               std::optional<DType> wanted) {
  std::string path = source, tensor = name;
  const size_t at = source.rfind(".safetensors:");
  if (at != std::string::npos) {
    path = source.substr(0, at + 12);
    tensor = source.substr(at + 13);
  }
  Result<std::string> bytes = readFile(path, maxTensorFileBytes);
  if (!bytes)
    return bytes.error();
  if (!path.ends_with(".safetensors"))
    return readNpy(*bytes, path, wanted);
  auto all = readSafetensors(*bytes, path);
  if (!all)
    return all.error();
  auto found = all->find(tensor);
  if (found == all->end() && all->size() == 1 && at == std::string::npos)
    found = all->begin();
  if (found == all->end())
    return Error(path + ": no tensor is named " + quote(tensor));
  return std::move(found->second);
}
