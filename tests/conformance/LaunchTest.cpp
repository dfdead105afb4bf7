//===- LaunchTest.cpp - What a launch must do -----------------------------===//
#include "tests/conformance/Fixture.h"

#include <numeric>

using namespace tandem;
using namespace tandem::conformance;
using Role = RecordOperand::Role;

static std::vector<int32_t> countingUp(size_t n) {
  std::vector<int32_t> values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST_SUITE("launch") {
  TEST_CASE("every element has its thread, and the tail has none") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    for (size_t n : {1, 127, 128, 129, 1000}) {
      CAPTURE(n);
      // One more word behind the vector shows a thread that is not masked.
      std::vector<int32_t> poison(n + 1, -1);
      Operand out = vectorOn(*device, DType::I32, poison, "out");
      out.desc.shape[0] = static_cast<int64_t>(n);
      runClean(*device, indexKernel(), {out});
      CHECK(valuesOf<int32_t>(*device, out) == countingUp(n));
      int32_t behind = 0;
      ok(device->read(out.address + 4 * n, &behind, 4));
      CHECK(behind == -1);
    }
  }

  TEST_CASE("a grid with a 0 in it is a no-op") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    Operand out = vectorOn<int32_t>(*device, DType::I32, {}, "out");
    runClean(*device, indexKernel(), {out});

    Kernel kernel = indexKernel();
    kernel.launch.grid[2] = expr("0");
    Operand untouched = vectorOn<int32_t>(*device, DType::I32, {-1}, "out");
    runClean(*device, kernel, {untouched});
    CHECK(valuesOf<int32_t>(*device, untouched) == std::vector<int32_t>{-1});
  }

  TEST_CASE("blocks and threads have three dimensions") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    constexpr int grid[] = {2, 3, 4}, block[] = {5, 2, 3};
    Kernel kernel = kernelFrom("place");
    LaunchRecord &record = kernel.launch;
    record.args = {pointerTo(addOperand(record, "out", DType::I32, Role::Out))};
    for (size_t i = 0; i < 3; ++i) {
      record.grid[i] = IntExpr(grid[i]);
      record.block[i] = block[i];
    }
    std::vector<int32_t> expected;
    for (int cz = 0; cz < grid[2]; ++cz)
      for (int cy = 0; cy < grid[1]; ++cy)
        for (int cx = 0; cx < grid[0]; ++cx)
          for (int z = 0; z < block[2]; ++z)
            for (int y = 0; y < block[1]; ++y)
              for (int x = 0; x < block[0]; ++x)
                expected.push_back(cz << 25 | cy << 20 | cx << 15 | z << 10 |
                                   y << 5 | x);
    Operand out = vectorOn(*device, DType::I32,
                           std::vector<int32_t>(expected.size(), -1), "out");
    runClean(*device, kernel, {out});
    CHECK(valuesOf<int32_t>(*device, out) == expected);
  }

  TEST_CASE("many arguments of both sizes arrive whole") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    Kernel kernel = kernelFrom("many_args");
    LaunchRecord &record = kernel.launch;
    uint64_t expected = 0;
    for (int i = 0; i < 24; ++i) {
      bool wide = i % 3 == 1;
      // Large and of both signs, so that lost or shifted bits show.
      int64_t value = wide ? (int64_t{1} << 40) * (i + 1) - 7
                           : (i % 2 ? -1 : 1) * (1000000007 - i);
      record.args.push_back({wide ? KernelArg::Kind::I64 : KernelArg::Kind::I32,
                             -1, IntExpr(value)});
      expected = expected * 31 + static_cast<uint64_t>(value);
    }
    record.args.push_back(
        pointerTo(addOperand(record, "out", DType::I64, Role::Out)));
    Operand out = vectorOn<uint64_t>(*device, DType::I64, {0}, "out");
    runClean(*device, kernel, {out});
    CHECK(valuesOf<uint64_t>(*device, out)[0] == expected);
  }

  TEST_CASE("dynamic shared memory has the record's size") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    // Above 48 KB a GPU has to be asked for it.
    for (size_t n : {1, 64, 1000, 25000}) {
      CAPTURE(n);
      Kernel kernel = kernelFrom("dynamic_shared");
      LaunchRecord &record = kernel.launch;
      int out = addOperand(record, "out", DType::I32, Role::Out);
      record.args = {pointerTo(out), i32("out.shape[0]")};
      record.block = {96, 1, 1};
      record.sharedBytes = static_cast<int64_t>(n) * 4;
      Operand words =
          vectorOn(*device, DType::I32, std::vector<int32_t>(n, -1), "out");
      runClean(*device, kernel, {words});
      std::vector<int32_t> expected = countingUp(n);
      std::reverse(expected.begin(), expected.end());
      CHECK(valuesOf<int32_t>(*device, words) == expected);
    }
  }

  TEST_CASE("the error slot reports the first bad row and nothing else") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    Kernel kernel = kernelFrom("error_slot");
    LaunchRecord &record = kernel.launch;
    int ids = addOperand(record, "ids", DType::I32, Role::In);
    int out = addOperand(record, "out", DType::I32, Role::Out);
    record.args = {pointerTo(ids), pointerTo(out), i32("ids.shape[0]"),
                   i32("10"), KernelArg{KernelArg::Kind::ErrorSlot, -1, {}}};
    record.grid[0] = expr("ceildiv(ids.shape[0], 2)");
    record.block = {2, 1, 1};
    auto loaded = get(device->load(kernel));
    auto launch = [&](const std::vector<int32_t> &values) {
      Operand in = vectorOn(*device, DType::I32, values, "ids");
      Operand result = vectorOn(*device, DType::I32,
                                std::vector<int32_t>(values.size(), -5), "out");
      LaunchReport report =
          get(device->launch(*loaded, {in, result}, LaunchOptions()));
      CHECK(report.ok());
      return std::pair(report.indexErrors, valuesOf<int32_t>(*device, result));
    };

    auto [errors, values] = launch({3, 4, 10, 9, -1, 0, 11});
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].step == 3);
    CHECK(errors[0].row == 2);
    // The bad rows stay as they were, the others are right.
    CHECK(values == std::vector<int32_t>{3, 4, -5, 9, -5, 0, -5});

    // A later launch starts with a clean slot.
    auto [noErrors, fine] = launch({1, 2, 3});
    CHECK(noErrors.empty());
    CHECK(fine == std::vector<int32_t>{1, 2, 3});
  }

  TEST_CASE("a workspace is zero at every launch") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    Kernel kernel = kernelFrom("workspace");
    LaunchRecord &record = kernel.launch;
    int out = addOperand(record, "out", DType::I32, Role::Out);
    record.args = {
        KernelArg{KernelArg::Kind::Workspace, -1, expr("out.shape[0] * 4")},
        pointerTo(out)};
    record.block = {64, 1, 1};
    auto loaded = get(device->load(kernel));
    for (int launch = 0; launch < 2; ++launch) {
      CAPTURE(launch);
      Operand result =
          vectorOn(*device, DType::I32, std::vector<int32_t>(64, -1), "out");
      LaunchReport report =
          get(device->launch(*loaded, {result}, LaunchOptions()));
      CHECK(report.ok());
      CHECK(valuesOf<int32_t>(*device, result) == std::vector<int32_t>(64, 0));
    }
  }

  TEST_CASE("atomics of all threads count, and launches run in order") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    Kernel kernel = kernelFrom("count");
    LaunchRecord &record = kernel.launch;
    record.args = {
        pointerTo(addOperand(record, "out", DType::I32, Role::State))};
    record.grid[0] = IntExpr(10);
    record.block = {100, 1, 1};
    record.ctasCommunicate = true;
    Operand out = vectorOn<int32_t>(*device, DType::I32, {5}, "out");
    auto loaded = get(device->load(kernel));
    for (int launch = 0; launch < 3; ++launch)
      CHECK(get(device->launch(*loaded, {out}, LaunchOptions())).ok());
    CHECK(valuesOf<int32_t>(*device, out)[0] == 5 + 3 * 1000);
  }

  TEST_CASE("two loaded kernels do not disturb each other") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    auto first = get(device->load(indexKernel()));
    auto second = get(device->load(indexKernel()));
    Operand a =
        vectorOn(*device, DType::I32, std::vector<int32_t>(200, -1), "a");
    Operand b =
        vectorOn(*device, DType::I32, std::vector<int32_t>(300, -1), "b");
    CHECK(get(device->launch(*second, {b}, LaunchOptions())).ok());
    second.reset();
    CHECK(get(device->launch(*first, {a}, LaunchOptions())).ok());
    CHECK(valuesOf<int32_t>(*device, a) == countingUp(200));
    CHECK(valuesOf<int32_t>(*device, b) == countingUp(300));
  }

  TEST_CASE("a CTA knows its rank in its cluster") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    if (!device->supports("sm_90")) {
      MESSAGE("SKIPPED: clusters need sm_90");
      return;
    }
    Kernel kernel = kernelFrom("cluster");
    LaunchRecord &record = kernel.launch;
    record.target = "sm_90";
    record.args = {pointerTo(addOperand(record, "out", DType::I32, Role::Out))};
    record.grid[0] = IntExpr(6);
    record.cluster = {2, 1, 1};
    Operand out =
        vectorOn(*device, DType::I32, std::vector<int32_t>(6, -1), "out");
    runClean(*device, kernel, {out});
    CHECK(valuesOf<int32_t>(*device, out) ==
          std::vector<int32_t>{32, 33, 32, 33, 32, 33});
  }

  TEST_CASE("tensor maps, a cluster and an early start compute a product") {
    // A driver may accept such a launch and run nothing: the second one starts
    // from other numbers, so that what is left of the first shows.
    auto device = open();
    if (!executesPtx(*device))
      return;
    if (!device->supports("sm_90a")) {
      MESSAGE("SKIPPED: tensor maps need sm_90a");
      return;
    }
    constexpr int64_t rows = 8, depth = 8, columns = 2;
    Kernel kernel = kernelFrom("map_product");
    LaunchRecord &record = kernel.launch;
    record.target = "sm_90a";
    const int x = addOperand(record, "x", DType::F32, Role::In);
    const int w = addOperand(record, "w", DType::F32, Role::In);
    const int out = addOperand(record, "out", DType::F32, Role::Out);
    auto mapOf = [](int operand, int64_t mapRows, int boxRows) {
      KernelArg arg{KernelArg::Kind::TensorMap, operand, IntExpr()};
      arg.map.type = MapType::F32;
      arg.map.dims = {IntExpr(depth), IntExpr(mapRows)};
      arg.map.strides = {IntExpr(depth * 4)};
      arg.map.box = {int(depth), boxRows};
      return arg;
    };
    record.args = {mapOf(x, rows, 4), mapOf(w, columns, 1), pointerTo(out)};
    record.grid[0] = IntExpr(columns);
    record.block = {int(rows), 1, 1};
    record.cluster = {int(columns), 1, 1};
    record.programmatic = true;
    record.ctasCommunicate = true;
    auto loaded = get(device->load(kernel));
    for (float first : {1.0f, -5.0f}) {
      CAPTURE(first);
      std::vector<float> xs(rows * depth), ws(columns * depth), expected;
      std::iota(xs.begin(), xs.end(), first);
      std::iota(ws.begin(), ws.end(), first + 2);
      for (int64_t n = 0; n < columns; ++n)
        for (int64_t m = 0; m < rows; ++m) {
          expected.push_back(0);
          for (int64_t k = 0; k < depth; ++k)
            expected.back() +=
                xs[size_t(m * depth + k)] * ws[size_t(n * depth + k)];
        }
      Operand xOn = vectorOn(*device, DType::F32, xs, "x");
      Operand wOn = vectorOn(*device, DType::F32, ws, "w");
      Operand result = vectorOn(*device, DType::F32,
                                std::vector<float>(rows * columns, -1), "out");
      LaunchReport report =
          get(device->launch(*loaded, {xOn, wOn, result}, LaunchOptions()));
      for (const Finding &finding : report.findings)
        FAIL_CHECK(finding.text());
      CHECK(valuesOf<float>(*device, result) == expected);
    }
  }
}
