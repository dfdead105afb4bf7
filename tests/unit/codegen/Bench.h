//===- Bench.h - Tensors and programs on an emulator, for tests -*- C++ -*-===//
#ifndef TANDEM_TESTS_UNIT_CODEGEN_BENCH_H
#define TANDEM_TESTS_UNIT_CODEGEN_BENCH_H

#include "Recipes.h"
#include "refops/Evaluate.h"

#include <cmath>
#include <functional>
#include <map>

namespace tandem::tests {

/// Tensors on an emulator of their own, and recipes run on them.
class Bench {
public:
  Bench() : device(makeEmulator()) {}

  Operand tensor(DType dtype, Dims shape, Dims strides,
                 const std::function<double(int64_t)> &value) {
    TensorDesc desc{dtype, std::move(shape), std::move(strides)};
    uint64_t size = dtypeSize(dtype);
    std::vector<std::byte> bytes(static_cast<size_t>(desc.extent()) * size);
    View view{desc, bytes.data()};
    for (int64_t i = 0; i < desc.numElements(); ++i)
      storeDouble(dtype, value(i), view.atLinear(i));
    auto address = device->allocate(bytes.size(), "tensor");
    REQUIRE(bool(address));
    REQUIRE(bool(device->write(*address, bytes.data(), bytes.size())));
    hostCopies[*address] = std::move(bytes);
    return {desc, *address};
  }
  Operand tensor(DType dtype, Dims shape,
                 const std::function<double(int64_t)> &value) {
    Dims strides = contiguousStrides(shape);
    return tensor(dtype, std::move(shape), std::move(strides), value);
  }
  Operand output(DType dtype, Dims shape) {
    TensorDesc desc = contiguous(dtype, std::move(shape));
    auto address = device->allocate(
        static_cast<uint64_t>(desc.extent()) * dtypeSize(dtype), "output");
    REQUIRE(bool(address));
    return {desc, *address};
  }

  /// Schedule parameters of every launch.
  std::map<std::string, std::string> set;

  /// Runs without findings, and gives the elements of \p out.
  std::vector<double> run(const Recipe &recipe,
                          const std::vector<Operand> &inputs, Operand out,
                          CompileOptions options = {}) {
    launch(recipe, inputs, {out}, std::move(options));
    return values(out);
  }

  /// Runs without findings; notes the contract and the index errors.
  void launch(const Recipe &recipe, const std::vector<Operand> &inputs,
              const std::vector<Operand> &outputs,
              CompileOptions options = {}) {
    options.set.insert(set.begin(), set.end());
    auto program = compile(recipe, inputs, outputs, options);
    INFO((program ? std::string() : program.error().text()));
    REQUIRE(bool(program));
    auto report = runProgram(*device, **program, inputs, outputs, {});
    INFO((report ? std::string() : report.error().text()));
    REQUIRE(bool(report));
    contract = (*program)->contract();
    indexErrors = report->indexErrors;
    for (const Finding &finding : report->findings)
      FAIL_CHECK(finding.text());
  }

  /// What lies in memory.
  std::vector<double> values(const Operand &operand) {
    std::vector<std::byte> bytes(static_cast<size_t>(operand.desc.extent()) *
                                 dtypeSize(operand.desc.dtype));
    if (!bytes.empty())
      REQUIRE(bool(device->read(operand.address, bytes.data(), bytes.size())));
    View view{operand.desc, bytes.data()};
    std::vector<double> elements;
    for (int64_t i = 0; i < operand.desc.numElements(); ++i)
      elements.push_back(loadDouble(operand.desc.dtype, view.atLinear(i)));
    return elements;
  }

  /// Runs, and checks each element of the f32 output against \p exact(i). Off
  /// by at most the bound that the references compute from the kernel's
  /// contract, and the last rounding: half a unit of f32, relative 2^-24.
  void checkNear(const Recipe &recipe, const std::vector<Operand> &inputs,
                 Operand out, const std::function<double(int64_t)> &exact) {
    REQUIRE(out.desc.dtype == DType::F32);
    const std::vector<double> y = run(recipe, inputs, out);
    std::vector<View> views;
    for (const Operand &input : inputs)
      views.push_back({input.desc, hostCopies.at(input.address).data()});
    auto expected = refops::evaluate(recipe, views, contract);
    INFO((expected ? std::string() : expected.error().text()));
    REQUIRE(bool(expected));
    for (size_t i = 0; i < y.size(); ++i) {
      CAPTURE(i);
      CAPTURE(y[i]);
      const double right = exact(static_cast<int64_t>(i));
      CHECK(std::abs(y[i] - right) <=
            expected->front().error[i] + 0x1p-24 * std::abs(right) + 0x1p-150);
    }
  }

  std::unique_ptr<Device> device;
  std::vector<IndexError> indexErrors;

private:
  std::map<uint64_t, std::vector<std::byte>> hostCopies;
  Contract contract;
};

inline Recipe single(Opcode op, const std::vector<Operand> &inputs,
                     Params params = {}) {
  std::vector<TensorType> types;
  for (const Operand &input : inputs) {
    TensorType type{input.desc.dtype, {}};
    for (int64_t size : input.desc.shape)
      type.shape.emplace_back(size);
    types.push_back(type);
  }
  Result<Recipe> recipe = singleOpRecipe(op, types, std::move(params));
  INFO((recipe ? std::string() : recipe.error().text()));
  REQUIRE(bool(recipe));
  return recipe.take();
}

inline double small(int64_t i) { return static_cast<double>(i % 7) - 3; }

} // namespace tandem::tests

#endif // TANDEM_TESTS_UNIT_CODEGEN_BENCH_H
