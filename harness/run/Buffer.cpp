//===- Buffer.cpp - An operand in device memory ---------------------------===//
#include "harness/run/Buffer.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstring>

using namespace tandem;
using namespace tandem::harness;

/// Bytes of poison on either side of a buffer that asks for them, and around
/// each row of a sparse one.
static constexpr int64_t guardBytes = 512;
static constexpr int64_t rowGuardBytes = 64;
/// Above this extent a buffer is handled row by row.
static constexpr int64_t denseBytes = int64_t(64) << 20;

/// Calls \p visit with the offset in elements of each element, row-major.
template <typename Visit>
static void forEachOffset(const TensorDesc &desc, Visit visit) {
  const int64_t count = desc.numElements();
  if (count == 0)
    return;
  Dims index(desc.rank(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(offset);
    for (size_t d = desc.rank(); d-- > 0;) {
      offset += desc.strides[d];
      if (++index[d] < desc.shape[d])
        break;
      offset -= desc.strides[d] * desc.shape[d];
      index[d] = 0;
    }
  }
}

std::vector<std::pair<int64_t, int64_t>>
tandem::harness::occupiedBytes(const TensorDesc &desc) {
  const auto size = static_cast<int64_t>(dtypeSize(desc.dtype));
  if (desc.numElements() == 0)
    return {};
  if (desc.isContiguous())
    return {{0, desc.numElements() * size}};
  std::vector<std::pair<int64_t, int64_t>> runs;
  auto add = [&](int64_t offset) {
    const int64_t begin = offset * size;
    if (!runs.empty() && begin <= runs.back().second)
      runs.back().second = std::max(runs.back().second, begin + size);
    else
      runs.push_back({begin, begin + size});
  };
  // A map of the extent is faster than sorting, where it is small enough.
  if (desc.extent() <= 8 * desc.numElements() + 4096) {
    std::vector<uint8_t> isOccupied(static_cast<size_t>(desc.extent()));
    forEachOffset(desc, [&](int64_t offset) {
      isOccupied[static_cast<size_t>(offset)] = 1;
    });
    for (size_t i = 0; i < isOccupied.size(); ++i)
      if (isOccupied[i])
        add(static_cast<int64_t>(i));
    return runs;
  }
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(desc.numElements()));
  forEachOffset(desc, [&](int64_t offset) { offsets.push_back(offset); });
  std::sort(offsets.begin(), offsets.end());
  for (int64_t offset : offsets)
    add(offset);
  return runs;
}

Buffer::Buffer(Device &device, std::string name, TensorDesc desc,
               Options options)
    : device(&device), name(std::move(name)), desc(std::move(desc)),
      options(options), runs(occupiedBytes(this->desc)) {}

Buffer::Buffer(Buffer &&other) noexcept
    : device(other.device), name(std::move(other.name)),
      desc(std::move(other.desc)), options(other.options),
      runs(std::move(other.runs)), allocation(other.allocation),
      first(other.first), before(other.before), total(other.total),
      owns(other.owns), found(std::move(other.found)) {
  other.owns = false;
}

Buffer::~Buffer() {
  if (owns)
    (void)device->release(allocation);
}

bool Buffer::isSparse() const { return total > denseBytes; }

Result<Buffer> Buffer::make(Device &device, const std::string &name,
                            const TensorDesc &desc, const Options &options) {
  Buffer buffer(device, name, desc, options);
  const auto size = static_cast<int64_t>(dtypeSize(desc.dtype));
  const int64_t guard = options.guardBands ? guardBytes : 0;
  buffer.before = guard + options.offset * size;
  buffer.total = buffer.before + desc.extent() * size + guard;
  Result<uint64_t> address =
      device.allocate(static_cast<uint64_t>(buffer.total), name);
  if (!address)
    return address.error();
  buffer.allocation = *address;
  buffer.owns = true;
  buffer.first = *address + static_cast<uint64_t>(buffer.before);
  if (Result<void> ok = buffer.poison(); !ok)
    return ok.error();
  return buffer;
}

/// Run \p i with its guards, clipped at its neighbours.
std::pair<int64_t, int64_t> Buffer::window(size_t i) const {
  const int64_t lowest = i > 0 ? before + runs[i - 1].second : 0;
  const int64_t highest =
      i + 1 < runs.size() ? before + runs[i + 1].first : total;
  return {std::max(before + runs[i].first - rowGuardBytes, lowest),
          std::min(before + runs[i].second + rowGuardBytes, highest)};
}

Result<void> Buffer::poison() {
  if (!isSparse())
    return device->fill(allocation, options.fill, static_cast<uint64_t>(total),
                        /*initialised=*/false);
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto [from, to] = window(i);
    if (Result<void> ok =
            device->fill(allocation + static_cast<uint64_t>(from), options.fill,
                         static_cast<uint64_t>(to - from), false);
        !ok)
      return ok;
  }
  return {};
}

Result<void> Buffer::writeElements(std::span<const std::byte> elements) {
  const size_t size = dtypeSize(desc.dtype);
  assert(elements.size() == static_cast<size_t>(desc.numElements()) * size &&
         "elements do not fit the buffer");
  if (desc.isContiguous())
    return elements.empty()
               ? Result<void>()
               : device->write(first, elements.data(), elements.size());
  // Gather each run on the host. Of elements that share an address (stride 0)
  // the last one counts.
  std::vector<std::vector<std::byte>> images;
  for (const auto &[begin, end] : runs)
    images.emplace_back(static_cast<size_t>(end - begin));
  const std::byte *source = elements.data();
  size_t run = 0;
  forEachOffset(desc, [&](int64_t offset) {
    const int64_t byte = offset * static_cast<int64_t>(size);
    // Neighbours in the tensor are mostly neighbours in memory.
    if (byte < runs[run].first || byte >= runs[run].second)
      run = runOf(byte);
    std::memcpy(images[run].data() + (byte - runs[run].first), source, size);
    source += size;
  });
  for (size_t i = 0; i < runs.size(); ++i)
    if (Result<void> ok =
            device->write(first + static_cast<uint64_t>(runs[i].first),
                          images[i].data(), images[i].size());
        !ok)
      return ok;
  return {};
}

/// The run that \p byte lies in.
size_t Buffer::runOf(int64_t byte) const {
  const auto after = std::upper_bound(
      runs.begin(), runs.end(), byte,
      [](int64_t value, const auto &range) { return value < range.first; });
  return static_cast<size_t>(after - runs.begin()) - 1;
}

void Buffer::checkGap(const std::byte *bytes, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end && !found; ++i)
    if (bytes[i - begin] != std::byte(options.fill)) {
      const auto size = static_cast<int64_t>(dtypeSize(desc.dtype));
      const int64_t place = i - before;
      const int64_t element =
          place >= 0 ? place / size : -((-place + size - 1) / size);
      char hex[8];
      std::snprintf(hex, sizeof hex, "0x%02x",
                    static_cast<unsigned>(bytes[i - begin]));
      found = name + ": the byte " + std::to_string(place) +
              " after the first element (element offset " +
              std::to_string(element) + ", which is not part of it) became " +
              hex;
    }
}

Result<std::vector<std::byte>> Buffer::readElements() {
  found.reset();
  const auto size = static_cast<int64_t>(dtypeSize(desc.dtype));
  std::vector<std::byte> elements(
      static_cast<size_t>(desc.numElements() * size));
  std::vector<std::byte> image;
  if (!isSparse()) {
    image.resize(static_cast<size_t>(total));
    if (total > 0)
      if (Result<void> ok = device->read(allocation, image.data(),
                                         static_cast<uint64_t>(total));
          !ok)
        return ok.error();
    int64_t cursor = 0;
    for (const auto &[begin, end] : runs) {
      checkGap(image.data() + cursor, cursor, before + begin);
      cursor = before + end;
    }
    checkGap(image.data() + cursor, cursor, total);
    std::byte *target = elements.data();
    forEachOffset(desc, [&](int64_t offset) {
      std::memcpy(target, image.data() + before + offset * size,
                  static_cast<size_t>(size));
      target += size;
    });
    return elements;
  }
  // Rows far apart: read each with its guards.
  std::vector<std::vector<std::byte>> rows;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto [begin, end] = runs[i];
    const auto [from, to] = window(i);
    image.resize(static_cast<size_t>(to - from));
    if (Result<void> ok =
            device->read(allocation + static_cast<uint64_t>(from), image.data(),
                         static_cast<uint64_t>(to - from));
        !ok)
      return ok.error();
    checkGap(image.data(), from, before + begin);
    checkGap(image.data() + (before + end - from), before + end, to);
    rows.emplace_back(image.begin() + (before + begin - from),
                      image.begin() + (before + end - from));
  }
  std::byte *target = elements.data();
  forEachOffset(desc, [&](int64_t offset) {
    const int64_t byte = offset * size;
    const size_t row = runOf(byte);
    std::memcpy(target, rows[row].data() + (byte - runs[row].first),
                static_cast<size_t>(size));
    target += size;
  });
  return elements;
}

std::vector<uint8_t>
Buffer::untouched(std::span<const std::byte> elements) const {
  const size_t size = dtypeSize(desc.dtype);
  std::vector<uint8_t> result(elements.size() / size);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = std::all_of(
        elements.begin() + static_cast<std::ptrdiff_t>(i * size),
        elements.begin() + static_cast<std::ptrdiff_t>((i + 1) * size),
        [&](std::byte byte) { return byte == std::byte(options.fill); });
  return result;
}
