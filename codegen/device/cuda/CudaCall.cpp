//===- CudaCall.cpp - A launch packed for the driver ----------------------===//
#include "codegen/device/cuda/CudaCall.h"

#include <cstring>

using namespace tandem;
using namespace tandem::cuda;

Result<void> tandem::cuda::encodeMap(const Driver &driver, const TensorMap &map,
                                     std::byte *to) {
  alignas(tensorMapAlign) std::byte encoded[tensorMapBytes];
  CUresult code = driver.tensorMapEncodeTiled(
      encoded, static_cast<int>(map.type), static_cast<unsigned>(map.rank()),
      map.address, map.dims.data(), map.strides.data(), map.box.data(),
      map.elementStrides.data(), 0, static_cast<int>(map.swizzle),
      static_cast<int>(map.promotion), static_cast<int>(map.fill));
  if (code != success)
    return driver.describe("cuTensorMapEncodeTiled", code);
  std::memcpy(to, encoded, tensorMapBytes);
  return {};
}

CudaCall::CudaCall(const Driver &driver, CUfunction function,
                   const LaunchRecord &record)
    : driver(driver), function(function), record(record) {
  for (size_t i = 0; i < 3; ++i) {
    config.block[i] = static_cast<unsigned>(record.block[i]);
    attributes[0].cluster[i] = static_cast<unsigned>(record.cluster[i]);
  }
  config.sharedBytes = static_cast<unsigned>(record.sharedBytes);
  config.attributes = attributes;
  if (record.cluster != std::array<int, 3>{1, 1, 1})
    config.numAttributes = 1;
  if (record.programmatic) {
    LaunchAttribute &one = attributes[config.numAttributes++];
    one = LaunchAttribute();
    one.id = LaunchAttribute::programmaticSerialization;
  }
  for (const KernelArg &arg : record.args) {
    const auto [size, align] = paramSize(arg);
    offsets.push_back((packedBytes + align - 1) / align * align);
    packedBytes = offsets.back() + size;
    hasMaps |= arg.kind == KernelArg::Kind::TensorMap;
  }
  packed.resize(packedBytes);
  for (const size_t offset : offsets)
    pointers.push_back(packed.data() + offset);
  extra[0] = paramBufferPointer;
  extra[1] = packed.data();
  extra[2] = paramBufferSize;
  extra[3] = &packedBytes;
  extra[4] = paramEnd;
}

Result<void> CudaCall::bind(const BoundLaunch &bound, CUdeviceptr errorSlot,
                            CUdeviceptr workspace) {
  for (size_t i = 0; i < 3; ++i)
    config.grid[i] = static_cast<unsigned>(bound.grid[i]);
  for (size_t i = 0; i < record.args.size(); ++i) {
    std::byte *to = packed.data() + offsets[i];
    uint64_t value = bound.args[i];
    switch (record.args[i].kind) {
    case KernelArg::Kind::TensorMap:
      if (Result<void> r = encodeMap(driver, bound.maps[value], to); !r)
        return Error(record.kernel + ": args[" + std::to_string(i) +
                     "]: " + r.error().text());
      continue;
    case KernelArg::Kind::ErrorSlot:
      value = errorSlot;
      break;
    case KernelArg::Kind::Workspace:
      value = workspace;
      break;
    case KernelArg::Kind::Pointer:
    case KernelArg::Kind::I32:
    case KernelArg::Kind::I64:
      break;
    }
    std::memcpy(to, &value, paramSize(record.args[i]).bytes);
  }
  return {};
}
