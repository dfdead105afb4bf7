//===- Buffers.cpp - What a row's launches read and write -----------------===//
#include "harness/bench/Buffers.h"

#include "harness/gen/Values.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tandem;
using namespace tandem::bench;

Memory::~Memory() {
  for (const uint64_t address : addresses)
    (void)device->release(address);
}

Result<uint64_t> Memory::allocate(int64_t bytes, const std::string &name) {
  Result<uint64_t> address =
      device->allocate(static_cast<uint64_t>(bytes), name);
  if (address)
    addresses.push_back(*address);
  return address;
}

static int64_t bytesOf(const TensorDesc &desc) {
  return desc.numElements() * static_cast<int64_t>(dtypeSize(desc.dtype));
}

Result<void> Filler::fill(const Operand &operand,
                          const harness::ValueSpec &spec) {
  GpuQueue *queue = device.queue();
  if (!queue)
    return Error(std::string(device.kind()) + ": has no stream to fill on");
  // A prime: no row is a multiple of it.
  constexpr int64_t period = 1048583;
  const int64_t elements = operand.desc.numElements();
  const std::string key = std::string(dtypeName(operand.desc.dtype)) + " " +
                          spec.kind + " " + std::to_string(spec.limit) + " " +
                          std::to_string(spec.seed) + " " +
                          std::to_string(std::min(elements, period));
  Pool &pool = pools[key];
  if (!pool.address && elements > 0) {
    const TensorDesc desc =
        contiguous(operand.desc.dtype, {std::min(elements, period)});
    std::vector<std::byte> values(static_cast<size_t>(bytesOf(desc)));
    if (Result<void> ok = harness::fillValues(spec, {desc, values.data()}); !ok)
      return ok;
    Result<uint64_t> address = memory.allocate(bytesOf(desc), "values");
    if (!address)
      return address.error();
    if (Result<void> ok = device.write(*address, values.data(), values.size());
        !ok)
      return ok;
    pool = {*address, bytesOf(desc)};
  }
  // The pool once, then what is there doubled: the copy's length is a multiple
  // of the period until the last.
  const int64_t total = bytesOf(operand.desc);
  int64_t done = std::min(total, pool.bytes);
  if (Result<void> ok = queue->copy(operand.address, pool.address,
                                    static_cast<uint64_t>(done));
      !ok)
    return ok;
  while (done < total) {
    const int64_t next = std::min(done, total - done);
    if (Result<void> ok =
            queue->copy(operand.address + static_cast<uint64_t>(done),
                        operand.address, static_cast<uint64_t>(next));
        !ok)
      return ok;
    done += next;
  }
  return {};
}

Result<std::vector<OperandSet>> tandem::bench::makeSets(const Row &row,
                                                        int count,
                                                        Memory &memory,
                                                        Filler &filler) {
  const std::vector<TensorDesc> inputs = inputDescs(row),
                                outputs = outputDescs(row);
  std::vector<OperandSet> sets(static_cast<size_t>(count));
  for (OperandSet &set : sets) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Result<uint64_t> address =
          memory.allocate(bytesOf(inputs[i]), row.recipe.inputs[i].name);
      if (!address)
        return address.error();
      set.inputs.push_back({inputs[i], *address});
      if (Result<void> ok = filler.fill(set.inputs.back(), row.values[i]); !ok)
        return ok.error();
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Result<uint64_t> address =
          memory.allocate(bytesOf(outputs[i]), row.recipe.outputs[i].name);
      if (!address)
        return address.error();
      set.outputs.push_back({outputs[i], *address});
    }
  }
  return sets;
}

Result<Sample> tandem::bench::sampleOf(Device &device,
                                       const std::vector<Operand> &outputs) {
  constexpr int64_t most = 1 << 20;
  Sample sample;
  for (const Operand &output : outputs) {
    const int64_t count = std::min(most, output.desc.numElements());
    std::vector<std::byte> values(static_cast<size_t>(count) *
                                  dtypeSize(output.desc.dtype));
    // By a copy of our own: a peer's memory is not the device's to read.
    Memory memory(device);
    const Result<uint64_t> own =
        memory.allocate(static_cast<int64_t>(values.size()), "sample");
    if (!own)
      return own.error();
    if (Result<void> ok =
            device.queue()->copy(*own, output.address, values.size());
        !ok)
      return ok.error();
    if (Result<void> ok = device.read(*own, values.data(), values.size()); !ok)
      return ok.error();
    sample.descs.push_back(output.desc);
    sample.values.push_back(std::move(values));
  }
  return sample;
}

Result<double> tandem::bench::differenceOf(const Sample &got,
                                           const Sample &expected) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (got.descs.size() != expected.descs.size())
    return Error("expected " + std::to_string(expected.descs.size()) +
                 " outputs, got " + std::to_string(got.descs.size()));
  double difference = 0, size = 0;
  for (size_t i = 0; i < got.descs.size(); ++i) {
    const DType dtype = expected.descs[i].dtype;
    if (got.descs[i].dtype != dtype ||
        got.values[i].size() != expected.values[i].size())
      return Error("expected " + expected.descs[i].describe() + ", got " +
                   got.descs[i].describe());
    const size_t width = dtypeSize(dtype);
    for (size_t at = 0; at < got.values[i].size(); at += width) {
      const double a = loadDouble(dtype, got.values[i].data() + at);
      const double b = loadDouble(dtype, expected.values[i].data() + at);
      if (!std::isfinite(a) && !std::isfinite(b))
        continue;
      if (!std::isfinite(a) || !std::isfinite(b))
        return infinite;
      difference += (a - b) * (a - b);
      size += b * b;
    }
  }
  if (size > 0)
    return std::sqrt(difference / size);
  return difference > 0 ? infinite : 0.0;
}
