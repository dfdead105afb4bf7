//===- Npy.cpp - NumPy's array files --------------------------------------===//
#include "harness/io/Tensors.h"

#include <charconv>
#include <cstring>
#include <limits>

using namespace tandem;
using namespace tandem::harness;

static constexpr std::string_view magic("\x93NUMPY", 6);

static const std::pair<std::string_view, DType> names[] = {
    {"<f4", DType::F32}, {"<f2", DType::F16}, {"<f8", DType::F64},
    {"<i4", DType::I32}, {"<i8", DType::I64}, {"|i1", DType::I8},
    {"|u1", DType::U8},  {"<V2", DType::BF16}};

/// The text of \p key's value in a header like `{'descr': '<f4', ...}`.
static std::string_view valueOf(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos)
    return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (rest.starts_with("'"))
    return rest.substr(1, rest.find('\'', 1) - 1);
  if (rest.starts_with("("))
    return rest.substr(1, rest.find(')') - 1);
  return rest.substr(0, rest.find_first_of(",} "));
}

static Result<Dims> shapeFrom(std::string_view text, const std::string &file) {
  Dims shape;
  int64_t elements = 1;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == ' ' || text[i] == ',') {
      ++i;
      continue;
    }
    int64_t size = 0;
    const auto [end, code] =
        std::from_chars(text.data() + i, text.data() + text.size(), size);
    if (code != std::errc() || size < 0)
      return Error(file + ": shape: expected sizes, got '" + std::string(text) +
                   "'");
    if (size > 0 &&
        elements > std::numeric_limits<int32_t>::max() * int64_t(1024) / size)
      return Error(file + ": shape: too many elements");
    elements *= size;
    shape.push_back(size);
    i = static_cast<size_t>(end - text.data());
  }
  if (shape.size() > maxRank)
    return Error(file + ": shape: " + std::to_string(shape.size()) +
                 " dims, at most " + std::to_string(maxRank));
  return shape;
}

static std::optional<DType> dtypeFrom(std::string_view descr,
                                      std::optional<DType> wanted) {
  // Raw bytes are what the recipe says, if the size fits.
  if ((descr == "<V2" || descr == "|V2") && wanted && dtypeSize(*wanted) == 2)
    return wanted;
  if (descr == "|V1" && wanted && dtypeSize(*wanted) == 1)
    return wanted;
  for (const auto &[name, type] : names)
    if (name == descr)
      return type;
  return std::nullopt;
}

Result<HostTensor> tandem::harness::readNpy(std::string_view bytes,
                                            const std::string &file,
                                            std::optional<DType> wanted) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != magic)
    return Error(file + ": not an npy file");
  const bool isLong = bytes[6] >= 2;
  uint32_t length = 0;
  const size_t start = isLong ? 12 : 10;
  if (bytes.size() < start)
    return Error(file + ": the header is cut off");
  std::memcpy(&length, bytes.data() + 8, isLong ? 4 : 2);
  if (bytes.size() - start < length)
    return Error(file + ": the header is cut off");
  const std::string_view header = bytes.substr(start, length);
  const std::string_view descr = valueOf(header, "descr");
  const std::optional<DType> type = dtypeFrom(descr, wanted);
  if (!type)
    return Error(file + ": descr: '" + std::string(descr) +
                 "' is no type that tandem knows");
  Result<Dims> shape = shapeFrom(valueOf(header, "shape"), file);
  if (!shape)
    return shape.error();
  HostTensor tensor;
  tensor.desc = contiguous(*type, shape.take());
  if (valueOf(header, "fortran_order") == "True") {
    int64_t stride = 1;
    for (size_t d = 0; d < tensor.desc.rank(); ++d) {
      tensor.desc.strides[d] = stride;
      stride *= std::max<int64_t>(tensor.desc.shape[d], 1);
    }
  }
  const std::string_view data = bytes.substr(start + length);
  const size_t expected =
      static_cast<size_t>(tensor.desc.numElements()) * dtypeSize(*type);
  if (data.size() != expected)
    return Error(file + ": expected " + std::to_string(expected) +
                 " bytes of elements, got " + std::to_string(data.size()));
  tensor.bytes.resize(expected);
  if (expected)
    std::memcpy(tensor.bytes.data(), data.data(), expected);
  return tensor;
}

std::string tandem::harness::writeNpy(const HostTensor &tensor) {
  std::string descr = "|V1";
  for (const auto &[name, type] : names)
    if (type == tensor.desc.dtype)
      descr = name;
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.desc.shape)
    header += std::to_string(size) + ",";
  header += "), }";
  // Elements start at a multiple of 64.
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::string bytes(magic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char *>(tensor.bytes.data()),
               tensor.bytes.size());
  return bytes;
}
