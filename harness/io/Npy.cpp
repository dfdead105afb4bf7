//===- Npy.cpp - NumPy's array files --------------------------------------===//
#include "harness/io/Tensors.h"

#include "refops/core/Spelling.h"

#include <algorithm>
#include <charconv>
#include <cstring>

using namespace tandem;
using namespace tandem::harness;

static constexpr std::string_view magic("\x93NUMPY", 6);

static const std::pair<std::string_view, DType> names[] = {
    {"<f4", DType::F32}, {"<f2", DType::F16}, {"<f8", DType::F64},
    {"<i4", DType::I32}, {"<i8", DType::I64}, {"|i1", DType::I8},
    {"|u1", DType::U8},  {"<V2", DType::BF16}};

namespace {
/// The header's members; a dict literal of Python, of which NumPy writes only
/// strings, True and False, and tuples of integers.
struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<Dims> shape;
};

class HeaderReader {
public:
  HeaderReader(std::string_view text, const std::string &file)
      : text(text), file(file) {}

  Result<Header> read() {
    if (!accept('{'))
      return fail("header: expected a Python dict");
    while (!accept('}')) {
      const std::optional<std::string> key = readString();
      if (!key || !accept(':'))
        return fail("header: expected 'NAME': VALUE at byte " +
                    std::to_string(at));
      if (Result<void> ok = readMember(*key); !ok)
        return ok.error();
      if (!accept(',') && !(peek() == '}'))
        return fail("header: expected ',' or '}' at byte " +
                    std::to_string(at));
    }
    if (peek())
      return fail("header: goes on after its end");
    if (!header.descr || !header.fortranOrder || !header.shape)
      return fail(std::string("header: '") +
                  (!header.descr          ? "descr"
                   : !header.fortranOrder ? "fortran_order"
                                          : "shape") +
                  "' is missing");
    return std::move(header);
  }

private:
  Error fail(const std::string &what) const {
    return Error(file + ": " + what);
  }

  /// The next character that is no space; 0 at the end.
  char peek() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }
  bool accept(char c) {
    const bool found = peek() == c;
    at += found;
    return found;
  }

  std::optional<std::string> readString() {
    const char mark = peek();
    if (mark != '\'' && mark != '"')
      return std::nullopt;
    const size_t end = text.find(mark, at + 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string value(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return value;
  }

  std::string_view word() {
    peek();
    return text.substr(at, text.find_first_of(",}) ", at) - at);
  }

  Result<void> readMember(const std::string &key) {
    if (key == "descr" && !header.descr) {
      header.descr = readString();
      if (header.descr)
        return {};
      return fail("descr: expected a string; arrays with fields are not "
                  "supported");
    }
    if (key == "fortran_order" && !header.fortranOrder) {
      const std::string_view value = word();
      if (value != "True" && value != "False")
        return fail("fortran_order: expected True or False, got " +
                    quote(value));
      header.fortranOrder = value == "True";
      at += value.size();
      return {};
    }
    if (key == "shape" && !header.shape)
      return readShape();
    return fail("header: " + quote(key) +
                (key == "descr" || key == "fortran_order" || key == "shape"
                     ? " is given twice"
                     : " is no member that tandem knows"));
  }

  Result<void> readShape() {
    if (!accept('('))
      return fail("shape: expected a tuple, got " + quote(word()));
    Dims shape;
    int64_t elements = 1;
    while (!accept(')')) {
      const std::string_view digits = word();
      int64_t size = 0;
      const auto [end, code] =
          std::from_chars(digits.data(), digits.data() + digits.size(), size);
      if (digits.empty() || code != std::errc() ||
          end != digits.data() + digits.size() || size < 0)
        return fail("shape: expected sizes, got " + quote(digits));
      at += digits.size();
      // Counted without zeros: strides are products of the other sizes.
      if (__builtin_mul_overflow(elements, std::max<int64_t>(size, 1),
                                 &elements) ||
          elements > maxElements)
        return fail("shape: more than " + std::to_string(maxElements) +
                    " elements");
      shape.push_back(size);
      if (!accept(',') && peek() != ')')
        return fail("shape: expected ',' or ')' at byte " + std::to_string(at));
    }
    if (shape.size() > maxRank)
      return fail("shape: " + std::to_string(shape.size()) + " dims, at most " +
                  std::to_string(maxRank));
    header.shape = std::move(shape);
    return {};
  }

  static constexpr int64_t maxElements = int64_t(1) << 41;
  std::string_view text;
  const std::string &file;
  size_t at = 0;
  Header header;
};
} // namespace

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

/// What to do about a type that is not read.
static std::string whyNoType(std::string_view descr) {
  if (descr.starts_with(">"))
    return " is big-endian, expected little-endian: save it with "
           "x.astype(x.dtype.newbyteorder('<'))";
  if (descr.find('O') != std::string_view::npos)
    return " holds Python objects, expected numbers";
  return " is no type that tandem knows, expected one of <f2, <f4, <f8, <i4, "
         "<i8, |i1, |u1, or raw bytes |V1, <V2 of a small float";
}

Result<HostTensor> tandem::harness::readNpy(std::string_view bytes,
                                            const std::string &file,
                                            std::optional<DType> wanted) {
  if (bytes.substr(0, 6) != magic)
    return Error(file + ": not an npy file");
  if (bytes.size() < 10)
    return Error(file + ": the header is cut off");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return Error(file + ": expected version 1, 2 or 3 of the format, got " +
                 std::to_string(version));
  const bool isLong = version >= 2;
  uint32_t length = 0;
  const size_t start = isLong ? 12 : 10;
  if (bytes.size() < start)
    return Error(file + ": the header is cut off");
  std::memcpy(&length, bytes.data() + 8, isLong ? 4 : 2);
  if (bytes.size() - start < length)
    return Error(file + ": the header is cut off");
  Result<Header> header =
      HeaderReader(bytes.substr(start, length), file).read();
  if (!header)
    return header.error();
  const std::optional<DType> type = dtypeFrom(*header->descr, wanted);
  if (!type)
    return Error(file + ": descr: " + quote(*header->descr) +
                 whyNoType(*header->descr));
  HostTensor tensor;
  tensor.desc = contiguous(*type, std::move(*header->shape));
  if (*header->fortranOrder) {
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
