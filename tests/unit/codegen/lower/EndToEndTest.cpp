//===- EndToEndTest.cpp - Tile kernels on the evaluator and emulator ------===//
#include "TileText.h"
#include "TwoDevices.h"

#include <cmath>

using namespace tandem;
using namespace tandem::test;
using tile::LinearLayout;

/// y = a + b over one row in windows of the layout's columns, a loop of CTAs.
static std::string addKernel(const LinearLayout &layout, int vector) {
  return fill(
      R"(func.func @add(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %y: !llvm.ptr<1>,
    %n: i64) attributes {tile.warps = $W : i32} {
  %block = tile.program_id 0
  %size = arith.constant $C : i64
  %start = arith.muli %block, %size : i64
  %x = tile.load %a cols(%start, %n) pad(0.0 : f32) {vector = $V : i32} : $F
  %z = tile.load %b cols(%start, %n) pad(0.0 : f32) {vector = $V : i32} : $F
  %s = arith.addf %x, %z : $F
  tile.store %s, %y cols(%start, %n) {vector = $V : i32} : $F
  return
})",
      {{"$W", std::to_string(layout.numWarps())},
       {"$C", std::to_string(layout.shape()[1])},
       {"$V", std::to_string(vector)},
       {"$F", tileOf("f32", layout)}});
}

/// y[row] = reduce(x[row, :]) for rows of the layout, row-major x of `cols`.
static std::string reduceKernel(const LinearLayout &layout,
                                const std::string &kind,
                                const std::string &element,
                                const std::string &identity) {
  return fill(
      R"(func.func @reduce(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %cols: i64)
    attributes {tile.warps = $W : i32} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = tile.range %c0 : $I
  %s = tile.splat %cols : i64 -> $I
  %o = arith.muli %r, %s : $I
  %v = tile.load %x rows(%o : $I) cols(%c0, %cols) pad($Z : $E) : $T
  %m = tile.mask %v cols(%c0, %cols) fill($Z : $E) : $T
  %t = tile.reduce $K %m : $T -> $R
  tile.store %t, %y rows(%r : $I) cols(%c0, %c1) : $R
  return
})",
      {{"$W", std::to_string(layout.numWarps())},
       {"$I", tileOf("i64", layout.dropColumns())},
       {"$T", tileOf(element, layout)},
       {"$R", tileOf(element, layout.dropColumns())},
       {"$K", kind},
       {"$Z", identity},
       {"$E", element}});
}

/// A layout of rows x cols (powers of two times a repetition) whose bits are
/// dealt at random, with random replication.
static LinearLayout randomLayout(int logRows, int logCols, int repeatRows,
                                 int repeatCols, int logWarps, Random &random) {
  tile::Bases bits;
  for (int bit = 0; bit < logRows; ++bit)
    bits.push_back({1 << bit, 0});
  for (int bit = 0; bit < logCols; ++bit)
    bits.push_back({0, 1 << bit});
  for (size_t i = bits.size(); i > 1; --i)
    std::swap(bits[i - 1], bits[size_t(random.below(int64_t(i)))]);
  LinearLayout layout;
  layout.repeat = {repeatRows, repeatCols};
  auto take = [&](tile::Bases &bases, int count) {
    for (int i = 0; i < count; ++i) {
      if (bits.empty() || random.below(5) == 0) {
        bases.push_back({0, 0});
        continue;
      }
      bases.push_back(bits.back());
      bits.pop_back();
    }
  };
  take(layout.lanes, 5);
  take(layout.warps, logWarps);
  layout.registers = bits;
  REQUIRE(layout.problem() == "");
  return layout;
}

TEST_SUITE("tile kernels run alike") {
  TEST_CASE("vector add touches exactly its elements") {
    for (int vector : {1, 4})
      for (int64_t n : {0, 1, 31, 32, 33, 500, 1000, 1024, 1028}) {
        if (n % vector)
          continue;
        const LinearLayout layout = LinearLayout::blocked(1, 512, vector, 2);
        const std::vector<float> a = reals(n, 1), b = reals(n, 2);
        auto outputs = runEverywhere(
            "add", addKernel(layout, vector), 2,
            {in(bytesOf(a)), in(bytesOf(b)), out(n * 4 + 64), number(n)},
            (n + 511) / 512);
        if (!n)
          continue;
        const auto y = valuesOf<float>(outputs[0]);
        for (int64_t i = 0; i < n; ++i)
          CHECK(y[i] == a[i] + b[i]);
        for (size_t i = size_t(n) * 4; i < outputs[0].size(); ++i)
          CHECK(outputs[0][i] == 0xAA);
      }
  }

  TEST_CASE("softmax rows sum to one for 1 to 8 warps") {
    for (int warps : {1, 2, 4, 8})
      for (int64_t cols : {8, 200, 1024}) {
        const int64_t rows = 3;
        const std::vector<float> x = reals(size_t(rows * cols), warps);
        auto outputs = runEverywhere(
            "softmax",
            softmaxKernel(LinearLayout::blocked(1, 1024, 8, warps), 8), warps,
            {in(elements(DType::BF16, x)), out(size_t(rows * cols * 2)),
             number(rows), number(cols), number(cols), number(cols)},
            rows);
        for (int64_t row = 0; row < rows; ++row) {
          double sum = 0;
          for (int64_t i = 0; i < cols; ++i)
            sum += loadDouble(DType::BF16,
                              &outputs[0][size_t(row * cols + i) * 2]);
          CHECK(std::abs(sum - 1) < 0.01);
        }
      }
  }

  TEST_CASE("several rows a CTA, a row number that does not divide") {
    const LinearLayout layout = LinearLayout::blocked(8, 64, 2, 4, 8, 1);
    const int64_t rows = 13, cols = 50;
    runEverywhere("softmax", softmaxKernel(layout, 2), 4,
                  {in(elements(DType::BF16, reals(rows * cols, 3))),
                   out(rows * cols * 2), number(rows), number(cols),
                   number(cols), number(cols)},
                  2);
  }

  TEST_CASE("a sum has the documented order over registers, lanes and warps") {
    // 2 registers, 2 column lanes (the others replicate), 2 column warps.
    LinearLayout layout;
    layout.registers = {{0, 1}};
    layout.lanes = {{0, 2}, {0, 0}, {0, 0}, {0, 0}, {0, 0}};
    layout.warps = {{0, 4}};
    const std::vector<float> x = {1e8f, 1, -1e8f, 1, 3, 1e8f, -1e8f, 0.25f};
    auto outputs =
        runEverywhere("reduce", reduceKernel(layout, "sum", "f32", "0.0"), 2,
                      {in(bytesOf(x)), out(4), number(8)});
    const float warp0 = (x[0] + x[1]) + (x[2] + x[3]);
    const float warp1 = (x[4] + x[5]) + (x[6] + x[7]);
    CHECK(valuesOf<float>(outputs[0])[0] == warp0 + warp1);
  }

  TEST_CASE("reductions of random layouts") {
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      Random random(seed);
      const int logWarps = int(random.below(4));
      const LinearLayout layout = randomLayout(
          int(random.below(4)), 3 + int(random.below(6)),
          1 + int(random.below(3)), 1 + int(random.below(3)), logWarps, random);
      CAPTURE(seed);
      auto [rows, cols] = layout.shape();
      std::vector<float> x = reals(size_t(rows * cols), seed);
      auto sums = runEverywhere(
          "reduce", reduceKernel(layout, "sum", "f32", "0.0"),
          layout.numWarps(), {in(bytesOf(x)), out(rows * 4), number(cols)});
      for (int64_t row = 0; row < rows; ++row) {
        double exact = 0, magnitude = 0;
        for (int64_t i = 0; i < cols; ++i) {
          exact += x[size_t(row * cols + i)];
          magnitude += std::abs(x[size_t(row * cols + i)]);
        }
        CHECK(std::abs(valuesOf<float>(sums[0])[row] - exact) <=
              sumBound(reductionDepth(layout), magnitude));
      }
      x[size_t(rows * cols / 2)] = NAN;
      runEverywhere("reduce", reduceKernel(layout, "max", "f32", "0xFF800000"),
                    layout.numWarps(),
                    {in(bytesOf(x)), out(rows * 4), number(cols)});
      std::vector<uint64_t> words(size_t(rows * cols));
      for (uint64_t &word : words)
        word = random.bits();
      runEverywhere("reduce", reduceKernel(layout, "maxu", "i64", "0"),
                    layout.numWarps(),
                    {in(bytesOf(words)), out(rows * 8), number(cols)});
    }
  }

  TEST_CASE("conversions between random layouts move every element") {
    const std::vector<std::pair<std::string, int>> types = {
        {"i8", 1}, {"f16", 2}, {"f32", 4}, {"i64", 8}};
    for (uint64_t seed = 1; seed <= 16; ++seed) {
      Random random(seed * 77);
      const int logWarps = int(random.below(3));
      const int logRows = int(random.below(5)), logCols = int(random.below(6));
      const int repeatRows = 1 + int(random.below(2));
      const int repeatCols = 1 + int(random.below(3));
      const LinearLayout from = randomLayout(logRows, logCols, repeatRows,
                                             repeatCols, logWarps, random);
      const LinearLayout to = randomLayout(logRows, logCols, repeatRows,
                                           repeatCols, logWarps, random);
      const auto &[element, bytes] = types[size_t(random.below(4))];
      CAPTURE(seed);
      auto [rows, cols] = from.shape();
      Bytes x(size_t(rows * cols * bytes));
      for (uint8_t &byte : x)
        byte = uint8_t(random.bits() >> 40);
      auto outputs = runEverywhere(
          "convert",
          convertKernel(from, to, element, element[0] == 'f' ? "0.0" : "0"),
          from.numWarps(), {in(x), out(x.size())});
      CHECK(outputs[0] == x);
    }
  }

  TEST_CASE("a layout whose bases cross combines by exclusive or") {
    const LinearLayout plain = LinearLayout::blocked(16, 32, 2, 2);
    // A swizzle: the row bits flip column bits.
    LinearLayout crossed;
    crossed.registers = {{0, 1}, {0, 2}, {8, 0}};
    crossed.lanes = {{1, 1}, {2, 2}, {4, 4}, {0, 4}, {0, 8}};
    crossed.warps = {{0, 16}};
    REQUIRE(crossed.problem() == "");
    REQUIRE(!crossed.registersAdd());
    const std::string text = fill(
        R"(func.func @swap(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)
    attributes {tile.warps = 2 : i32} {
  %c0 = arith.constant 0 : i64
  %cols = arith.constant 32 : i64
  %r = tile.range %c0 : $R
  %s = tile.splat %cols : i64 -> $R
  %o = arith.muli %r, %s : $R
  %v = tile.load %x rows(%o : $R) cols(%c0, %cols) pad(0 : i32) : $P
  %w = tile.convert_layout %v : $P -> $C
  %two = arith.constant dense<2> : $C
  %d = arith.muli %w, %two : $C
  %z = tile.convert_layout %d : $C -> $P
  tile.store %z, %y rows(%o : $R) cols(%c0, %cols) : $P
  return
})",
        {{"$R", tileOf("i64", plain.dropColumns())},
         {"$P", tileOf("i32", plain)},
         {"$C", tileOf("i32", crossed)}});
    std::vector<int32_t> x(16 * 32);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = int32_t(i);
    auto outputs =
        runEverywhere("swap", text, 2, {in(bytesOf(x)), out(x.size() * 4)});
    for (size_t i = 0; i < x.size(); ++i)
      CHECK(valuesOf<int32_t>(outputs[0])[i] == 2 * x[i]);
  }

  TEST_CASE("dot on the tensor core, exact integers") {
    const LinearLayout acc = LinearLayout::mmaAccumulator(32, 48, 2, 2);
    const LinearLayout a = LinearLayout::mmaOperandA(acc, 48);
    const LinearLayout b = LinearLayout::mmaOperandB(acc, 48);
    for (auto [name, type] :
         {std::pair{"f16", DType::F16}, std::pair{"bf16", DType::BF16}}) {
      Random random(5);
      std::vector<float> x(32 * 48), y(48 * 48), c(32 * 48);
      for (auto *values : {&x, &y, &c})
        for (float &value : *values)
          value = float(random.below(17) - 8);
      auto outputs =
          runEverywhere("dot", dotKernel(acc, a, b, name), 4,
                        {in(elements(type, x)), in(elements(type, y)),
                         in(bytesOf(c)), out(32 * 48 * 4)});
      const auto d = valuesOf<float>(outputs[0]);
      for (int m = 0; m < 32; ++m)
        for (int n = 0; n < 48; ++n) {
          float exact = c[m * 48 + n];
          for (int k = 0; k < 48; ++k)
            exact += x[m * 48 + k] * y[n * 48 + k];
          CHECK(d[m * 48 + n] == exact);
        }
      // Reals, over wide exponents: the truncations must agree bit for bit.
      std::vector<float> wide = reals(32 * 48, 6);
      for (size_t i = 0; i < wide.size(); ++i)
        wide[i] = std::ldexp(wide[i], int(random.below(20)) - 14);
      runEverywhere("dot", dotKernel(acc, a, b, name), 4,
                    {in(elements(type, wide)),
                     in(elements(type, reals(48 * 48, 8))),
                     in(bytesOf(reals(32 * 48, 9))), out(32 * 48 * 4)});
    }
  }

  TEST_CASE("dot with fma") {
    const LinearLayout acc = LinearLayout::fmaAccumulator(24, 32, 1, 2);
    auto outputs = runEverywhere(
        "dot",
        dotKernel(acc, LinearLayout::fmaOperandA(acc, 12),
                  LinearLayout::fmaOperandB(acc, 12), "f32"),
        2,
        {in(bytesOf(reals(24 * 12, 1))), in(bytesOf(reals(32 * 12, 2))),
         in(bytesOf(reals(24 * 32, 3))), out(24 * 32 * 4)});
    const auto a = reals(24 * 12, 1), b = reals(32 * 12, 2),
               c = reals(24 * 32, 3), d = valuesOf<float>(outputs[0]);
    for (int m = 0; m < 24; ++m)
      for (int n = 0; n < 32; ++n) {
        float expected = c[m * 32 + n];
        for (int k = 0; k < 12; ++k)
          expected = std::fma(a[m * 12 + k], b[n * 12 + k], expected);
        CHECK(d[m * 32 + n] == expected);
      }
  }

  TEST_CASE("a number in memory bounds a loop") {
    const LinearLayout one = LinearLayout::blocked(1, 1, 1, 2);
    const std::string text = fill(
        R"(func.func @sum(%n: !llvm.ptr<1>, %y: !llvm.ptr<1>)
    attributes {tile.warps = 2 : i32} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %m = tile.load_scalar %n[%c2] : i32
  %end = arith.extsi %m : i32 to i64
  %first = tile.range %c0 : $T
  %s = scf.for %i = %c0 to %end step %c1 iter_args(%a = %first) -> ($T) : i64 {
    %t = tile.splat %i : i64 -> $T
    %b = arith.addi %a, %t : $T
    scf.yield %b : $T
  }
  tile.store %s, %y cols(%c0, %c1) : $T
  return
})",
        {{"$T", tileOf("i64", one)}});
    std::vector<Bytes> results = runEverywhere(
        "sum", text, 2, {in(bytesOf<int32_t>({7, -3, 5})), out(8)}, 1);
    CHECK(valuesOf<int64_t>(results[0])[0] == 0 + 1 + 2 + 3 + 4);
  }
}
