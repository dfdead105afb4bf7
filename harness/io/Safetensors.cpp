//===- Safetensors.cpp - Named tensors in one file ------------------------===//
#include "harness/io/Files.h"
#include "harness/io/Tensors.h"

#include <cstring>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using nlohmann::json;

static const std::pair<std::string_view, DType> names[] = {
    {"F32", DType::F32},        {"F16", DType::F16},
    {"BF16", DType::BF16},      {"F8_E4M3", DType::F8E4M3},
    {"F8_E5M2", DType::F8E5M2}, {"F64", DType::F64},
    {"I32", DType::I32},        {"I64", DType::I64},
    {"I8", DType::I8},          {"U8", DType::U8}};

Result<std::map<std::string, HostTensor>>
tandem::harness::readSafetensors(std::string_view bytes,
                                 const std::string &file) {
  uint64_t length = 0;
  if (bytes.size() >= 8)
    std::memcpy(&length, bytes.data(), 8);
  if (bytes.size() < 8 || length > bytes.size() - 8)
    return Error(file + ": the header is cut off");
  const json header = json::parse(bytes.substr(8, length), nullptr, false);
  if (!header.is_object())
    return Error(file + ": header: expected a JSON object");
  const std::string_view data = bytes.substr(8 + length);
  std::map<std::string, HostTensor> tensors;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    const std::string place = file + ": " + name;
    std::optional<DType> type;
    Dims shape;
    std::vector<uint64_t> offsets;
    // nlohmann::json throws on members of another type; it ends here.
    try {
      for (const auto &[text, known] : names)
        if (entry.at("dtype").get<std::string>() == text)
          type = known;
      shape = entry.at("shape").get<Dims>();
      offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
    } catch (const json::exception &error) {
      return Error(place + ": " + error.what());
    }
    if (!type)
      return Error(place + ": dtype: " + entry["dtype"].dump() +
                   " is no type that tandem knows");
    uint64_t elements = 1;
    for (int64_t size : shape) {
      if (size < 0 ||
          (size > 0 && elements > data.size() / static_cast<uint64_t>(size)))
        return Error(place + ": shape: does not fit the file");
      elements *= static_cast<uint64_t>(size);
    }
    if (shape.size() > maxRank)
      return Error(place + ": shape: at most " + std::to_string(maxRank) +
                   " dims");
    const uint64_t expected = elements * dtypeSize(*type);
    if (offsets.size() != 2 || offsets[0] > offsets[1] ||
        offsets[1] > data.size() || offsets[1] - offsets[0] != expected)
      return Error(place + ": data_offsets: expected " +
                   std::to_string(expected) + " bytes inside the file");
    HostTensor tensor;
    tensor.desc = contiguous(*type, std::move(shape));
    tensor.bytes.resize(expected);
    if (expected)
      std::memcpy(tensor.bytes.data(), data.data() + offsets[0], expected);
    tensors.emplace(name, std::move(tensor));
  }
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

Result<HostTensor> tandem::harness::readTensor(const std::string &source,
                                               const std::string &name,
                                               std::optional<DType> wanted) {
  std::string path = source, tensor = name;
  const size_t at = source.rfind(".safetensors:");
  if (at != std::string::npos) {
    path = source.substr(0, at + 12);
    tensor = source.substr(at + 13);
  }
  Result<std::string> bytes = readFile(path);
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
    return Error(path + ": no tensor is named '" + tensor + "'");
  return std::move(found->second);
}
