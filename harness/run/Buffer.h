//===- Buffer.h - An operand in device memory -------------------*- C++ -*-===//
//
// A buffer knows which bytes belong to elements and which do not (guard bands,
// padding between rows, skipped elements), poisons them all, and says later
// whether the others are still what they were. Buffers whose extent is huge are
// handled row by row, so that a stride beyond 2^31 touches a few pages only.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_RUN_BUFFER_H
#define TANDEM_HARNESS_RUN_BUFFER_H

#include "codegen/device/Device.h"

#include <optional>
#include <span>

namespace tandem::harness {

/// Byte ranges [begin, end) that the elements of \p desc occupy, relative to
/// the first element; sorted, disjoint, adjacent ones joined.
std::vector<std::pair<int64_t, int64_t>> occupiedBytes(const TensorDesc &desc);

class Buffer {
public:
  struct Options {
    uint8_t fill = 0xAA;
    bool guardBands = false;
    /// Elements between a 256-byte boundary and the first element.
    int64_t offset = 0;
  };

  static Result<Buffer> make(Device &device, const std::string &name,
                             const TensorDesc &desc, const Options &options);
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&) = delete;
  ~Buffer();

  Operand operand() const { return {desc, first}; }

  /// Writes elements given in row-major order; where elements share an address,
  /// readElements tells what became of them.
  Result<void> writeElements(std::span<const std::byte> elements);

  /// Reads all elements in row-major order.
  Result<std::vector<std::byte>> readElements();

  /// For each element of readElements whether it still is poison.
  std::vector<uint8_t> untouched(std::span<const std::byte> elements) const;

  /// Checks what lies between and around the elements after readElements:
  /// nothing, or where the first changed byte is.
  const std::optional<std::string> &damage() const { return found; }

private:
  Buffer(Device &device, std::string name, TensorDesc desc, Options options);
  Result<void> poison();
  bool isSparse() const;
  std::pair<int64_t, int64_t> window(size_t run) const;
  size_t runOf(int64_t byte) const;
  void checkGap(const std::byte *bytes, int64_t begin, int64_t end);

  Device *device;
  std::string name;
  TensorDesc desc;
  Options options;
  std::vector<std::pair<int64_t, int64_t>> runs;
  uint64_t allocation = 0;
  uint64_t first = 0;
  /// Bytes before the first element and in all.
  int64_t before = 0, total = 0;
  bool owns = false;
  std::optional<std::string> found;
};

} // namespace tandem::harness

#endif // TANDEM_HARNESS_RUN_BUFFER_H
