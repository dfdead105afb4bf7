//===- Staging.cpp - Host views on a device -------------------------------===//
#include "codegen/capi/Staging.h"

#include <cstring>

using namespace tandem;
using namespace tandem::capi;

/// Bytes from the first element to the end of the last one.
static uint64_t extentBytes(const TensorDesc &desc) {
  return static_cast<uint64_t>(desc.extent()) * dtypeSize(desc.dtype);
}

Staging::~Staging() {
  // Nobody is left to hear of a failed release; after a fault all of them fail.
  for (uint64_t address : allocations)
    (void)device.release(address);
}

Result<Operand> Staging::place(const View &view, const std::string &name) {
  auto address = device.allocate(extentBytes(view.desc), name);
  if (!address)
    return address.error();
  allocations.push_back(*address);
  return Operand{view.desc, *address};
}

Result<Operand> Staging::addInput(const View &view, const std::string &name) {
  auto operand = place(view, name);
  if (!operand)
    return operand;
  if (auto r =
          device.write(operand->address, view.data, extentBytes(view.desc));
      !r)
    return r.error();
  return operand;
}

Result<Operand> Staging::addOutput(const View &view, const std::string &name) {
  auto operand = place(view, name);
  if (!operand)
    return operand;
  if (auto r = device.fill(operand->address, 0xAA, extentBytes(view.desc),
                           /*initialised=*/false);
      !r)
    return r.error();
  return operand;
}

Result<void> Staging::copyBack(const Operand &operand, const View &view) {
  uint64_t bytes = extentBytes(view.desc);
  if (view.desc.isContiguous())
    return device.read(operand.address, view.data, bytes);
  std::vector<std::byte> image(bytes);
  if (auto r = device.read(operand.address, image.data(), bytes); !r)
    return r;
  const View source{view.desc, image.data()};
  size_t size = dtypeSize(view.desc.dtype);
  for (int64_t i = 0, n = view.desc.numElements(); i < n; ++i)
    std::memcpy(view.atLinear(i), source.atLinear(i), size);
  return {};
}
