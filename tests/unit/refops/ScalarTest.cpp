//===- ScalarTest.cpp - Hulls, verdicts and closed forms ------------------===//
#include "refops/KnownAnswers.h"
#include "refops/Primitives.h"
#include "refops/Reductions.h"
#include "refops/Registry.h"

#include <array>
#include <bit>
#include <doctest/doctest.h>
#include <random>

using namespace tandem;
using namespace tandem::refops;

static bool isClose(double computed, double closedForm) {
  return computed >= closedForm / 2 && computed <= closedForm * 2;
}

TEST_SUITE("bounded") {
  TEST_CASE("rounding maps an interval to its rounded hull") {
    const DType bf16 = DType::BF16, f16 = DType::F16;
    // Inside one cell: the error vanishes.
    CHECK(roundedTo(bf16, Bounded(1 + 0x1p-10, 0x1p-11)).error == 0);
    CHECK(roundedTo(bf16, Bounded(1 + 0x1p-10, 0x1p-11)).value == 1);
    // Across a tie: one spacing, however small the error was.
    CHECK(roundedTo(bf16, Bounded(1 + 0x1p-8, 0x1p-30)).value == 1);
    CHECK(roundedTo(bf16, Bounded(1 + 0x1p-8, 0x1p-30)).error == 0x1p-7);
    // An exact number has no error, an exact tie neither.
    CHECK(roundedTo(bf16, Bounded(1 + 0x1p-8)).error == 0);
    CHECK(roundedTo(DType::F32, Bounded(0.1)).error == 0);
    // Around overflow there is no verdict; beyond it, infinity is certain.
    CHECK(!roundedTo(f16, Bounded(65519, 2)).hasVerdict());
    CHECK(roundedTo(f16, Bounded(65530, 2)).value == infinity);
    CHECK(roundedTo(f16, Bounded(65530, 2)).error == 0);
    CHECK(roundedTo(f16, Bounded(-infinity)).error == 0);
    // float8_e4m3fn saturates instead.
    CHECK(roundedTo(DType::F8E4M3, Bounded(1e6, 10)).value == 448);
    CHECK(roundedTo(DType::F8E4M3, Bounded(1e6, 10)).error == 0);
    // Subnormals, integers, NaN.
    CHECK(roundedTo(f16, Bounded(0x1p-25, 0x1p-40)).error == 0x1p-24);
    CHECK(roundedTo(DType::I32, Bounded(2.9, 0.2)).value == 2);
    CHECK(roundedTo(DType::I32, Bounded(2.9, 0.2)).error == 1);
    CHECK(roundedTo(DType::I8, Bounded(NAN)).value == 0);
    CHECK(roundedTo(bf16, Bounded(NAN)).isCertainNan());
    CHECK(!roundedTo(bf16, noVerdict(1)).hasVerdict());
  }

  TEST_CASE("every number of the interval rounds into the hull") {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> unit(-1, 1);
    for (int i = 0; i < 100000; ++i) {
      const DType type =
          std::array{DType::F32,    DType::F16,    DType::BF16,
                     DType::F8E4M3, DType::F8E5M2, DType::I8}[size_t(i) % 6];
      const double v = std::ldexp(unit(random), int(random() % 40) - 24);
      const double e = std::fabs(v) * std::ldexp(1.0, -int(random() % 30));
      const Bounded hull = roundedTo(type, Bounded(v, e));
      if (!hull.hasVerdict())
        continue;
      const double y = roundTo(type, v + e * unit(random));
      REQUIRE((y == hull.value || std::fabs(y - hull.value) <= hull.error));
    }
  }

  TEST_CASE("overflow has a verdict only where it is certain") {
    const StepNumerics n = licensedNumerics();
    CHECK(add(Bounded(3e38), Bounded(3e38), n).value == infinity);
    CHECK(add(Bounded(3e38), Bounded(3e38), n).error == 0);
    CHECK(!mul(Bounded(f32Overflow, 1e30), Bounded(1), n).hasVerdict());
    CHECK(mul(Bounded(1e30), Bounded(1e30), n).value == infinity);
    // An infinity times what may be zero may be NaN.
    CHECK(!mul(Bounded(infinity), Bounded(1, 2), n).hasVerdict());
    CHECK(mul(Bounded(infinity), Bounded(2, 1), n).error == 0);
    CHECK(mul(Bounded(infinity), Bounded(0), n).isCertainNan());
    CHECK(add(Bounded(infinity), Bounded(-infinity), n).isCertainNan());
    CHECK(!add(noVerdict(1), Bounded(infinity), n).hasVerdict());
    CHECK(mul(noVerdict(1), Bounded(NAN), n).isCertainNan());
    CHECK(!div(Bounded(1), Bounded(1e-3, 1e-2), n).hasVerdict());
    CHECK(div(Bounded(1), Bounded(0), n).value == infinity);
    CHECK(!rsqrt(Bounded(1e-9, 1e-8), n).hasVerdict());
    CHECK(exp(Bounded(89), n).value == infinity);
    CHECK(exp(Bounded(-infinity), n).error == 0);
    // A sum that only some orders of additions overflow.
    const std::vector<Bounded> some = {3e38, 3e38, -3e38};
    CHECK(!sum(std::span<const Bounded>(some), 2, n).hasVerdict());
    const std::vector<Bounded> all = {3e38, 3e38, 1};
    CHECK(sum(std::span<const Bounded>(all), 2, n).value == infinity);
    CHECK(sum(std::span<const Bounded>(all), 2, n).error == 0);
    const std::vector<Bounded> nan = {3e38, -3e38, NAN, infinity};
    CHECK(sum(std::span<const Bounded>(nan), 2, n).isCertainNan());
    const std::vector<Bounded> wide = {infinity, -3e38, -3e38};
    CHECK(!sum(std::span<const Bounded>(wide), 2, n).hasVerdict());
  }

  TEST_CASE("exact operations are f32 operations bit for bit") {
    std::mt19937 random(11);
    for (int i = 0; i < 200000; ++i) {
      const float a = std::bit_cast<float>(static_cast<uint32_t>(random()));
      const float b =
          i % 3 ? std::bit_cast<float>(static_cast<uint32_t>(random()))
                : a * static_cast<float>(int(random() % 5) - 2);
      for (const bool isSum : {true, false}) {
        const float want = isSum ? a + b : a * b;
        const Bounded got = isSum ? addF32(Bounded(a), Bounded(b))
                                  : mulF32(Bounded(a), Bounded(b));
        REQUIRE(got.error == 0);
        REQUIRE(std::isnan(want) == std::isnan(got.value));
        if (!std::isnan(want))
          REQUIRE(std::bit_cast<uint32_t>(want) ==
                  std::bit_cast<uint32_t>(static_cast<float>(got.value)));
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// TESTING, section 2: the closed forms agree with the computed bound
//===----------------------------------------------------------------------===//

TEST_SUITE("closed forms") {
  static const double rhoExp0 = 2.06 * 0x1p-23;

  struct Data {
    std::vector<Bounded> x, w;
    explicit Data(size_t count, int seed) {
      std::mt19937 random(static_cast<uint32_t>(seed));
      std::normal_distribution<float> normal;
      for (size_t i = 0; i < count; ++i) {
        x.emplace_back(normal(random));
        w.emplace_back(normal(random));
      }
    }
  };

  static KnownAnswer caseOf(const std::vector<std::vector<Bounded>> &operands) {
    KnownAnswer known;
    for (const auto &operand : operands) {
      KnownTensor tensor{DType::F32, {int64_t(operand.size())}, {}};
      for (const Bounded &v : operand)
        tensor.values.push_back(v.value);
      known.inputs.push_back(tensor);
    }
    return known;
  }

  static Buffer boundOf(Opcode op, const KnownAnswer &known,
                        const StepNumerics &n) {
    std::vector<HostTensor> inputs;
    for (const KnownTensor &input : known.inputs)
      inputs.emplace_back(input);
    OpCall<Bounded> call;
    for (HostTensor &input : inputs)
      call.in.emplace_back(input.view());
    Buffer y(DType::F32, known.inputs[0].shape, false, true);
    call.out.emplace_back(y);
    call.params = &known.params;
    call.numerics = &n;
    REQUIRE(find_op(op)->evaluateBounded(call));
    return y;
  }

  TEST_CASE("sum and dot products") {
    const StepNumerics n = licensedNumerics();
    StepNumerics mma = n;
    mma.dot = StepNumerics::Dot::TensorCore;
    mma.dotChunk = 16;
    for (const size_t count : {1u, 2u, 33u, 300u, 4096u}) {
      CAPTURE(count);
      const Data d(count, int(count));
      const std::span<const Bounded> x(d.x), w(d.w);
      const int64_t k = static_cast<int64_t>(count);
      double mass = 0, products = 0;
      for (size_t i = 0; i < count; ++i) {
        mass += std::fabs(x[i].value);
        products += std::fabs(x[i].value * w[i].value);
      }
      if (count > 1)
        CHECK(isClose(sum(x, n.depth(k), n).error, n.depth(k) * u32 * mass));
      else
        CHECK(sum(x, n.depth(k), n).error < 0x1p-50);
      CHECK(isClose(dot(x, w, DType::F32, n.dotDepth(k), n).error,
                    n.dotDepth(k) * u32 * products));
      // B_t = (k + 1) 2^-F max(|S| + B, max |a b|) + 2^-R |S_t|
      double s = 0, total = 0;
      for (size_t begin = 0; begin < count; begin += 16) {
        const size_t end = std::min(count, begin + 16);
        double largest = std::fabs(s) + total;
        for (size_t i = begin; i < end; ++i) {
          largest = std::max(largest, std::fabs(x[i].value * w[i].value));
          s += x[i].value * w[i].value;
        }
        total += 17 * 0x1p-25 * largest + 0x1p-23 * std::fabs(s);
      }
      const double bound = dot(x, w, DType::BF16, 0, mma).error;
      // The last instruction may have fewer than 16 addends that are not zero.
      CHECK(bound <= total * 2);
      CHECK(bound >= (count < 16 ? 0.1 : 0.5) * total);
    }
  }

  TEST_CASE("silu_mul") {
    const StepNumerics n = licensedNumerics();
    Data d(2000, 3);
    for (size_t i = 0; i < d.x.size(); ++i)
      d.x[i].value = static_cast<float>(d.x[i].value * double(1 + i % 20));
    StepNumerics rounded = n;
    rounded.rcp = nullptr; // the form has one correctly rounded division
    const Buffer y = boundOf(Opcode::SILU_MUL, caseOf({d.x, d.w}), rounded);
    for (size_t i = 0; i < d.x.size(); ++i) {
      const double g = d.x[i].value;
      CAPTURE(g);
      const double rho = rhoExp0 + 2 * std::fabs(g) * 0x1p-24;
      CHECK(isClose(y.error[i], std::fabs(y.value[i]) *
                                    (rho / (1 + std::exp(g)) + 5 * u32)));
    }
  }

  TEST_CASE("softmax") {
    StepNumerics n = licensedNumerics();
    n.rcp = nullptr;
    for (const size_t count : {2u, 40u, 1000u}) {
      Data d(count, int(count));
      double m = -infinity, total = 0, weighted = 0;
      for (const Bounded &v : d.x)
        m = std::max(m, v.value);
      const auto rho = [&](size_t i) {
        return rhoExp0 + 2 * std::fabs(d.x[i].value - m) * 0x1p-24;
      };
      for (size_t i = 0; i < count; ++i) {
        total += std::exp(d.x[i].value - m);
        weighted += std::exp(d.x[i].value - m) * rho(i);
      }
      const Buffer y = boundOf(Opcode::SOFTMAX, caseOf({d.x}), n);
      const double h = n.depth(static_cast<int64_t>(count));
      for (size_t i = 0; i < count; ++i)
        CHECK(isClose(y.error[i], y.value[i] * (rho(i) + weighted / total +
                                                (h + 2) * u32)));
    }
  }

  TEST_CASE("rmsnorm") {
    const StepNumerics n = licensedNumerics();
    for (const size_t count : {2u, 40u, 1000u}) {
      const Data d(count, int(count));
      const Buffer y = boundOf(Opcode::RMSNORM, caseOf({d.x, d.w}), n);
      const double h = n.depth(static_cast<int64_t>(count));
      for (size_t i = 0; i < count; ++i)
        CHECK(isClose(y.error[i],
                      std::fabs(y.value[i]) *
                          ((h + 3) * u32 / 2 + std::exp2(-22.9) + 3 * u32)));
    }
  }

  TEST_CASE("copy, add, mul and allreduce have no error") {
    const StepNumerics n = licensedNumerics();
    const Data d(500, 5);
    using Operands = std::vector<std::vector<Bounded>>;
    const std::vector<std::pair<Opcode, Operands>> cases = {
        {Opcode::COPY, Operands(1, d.x)},
        {Opcode::ADD, Operands{d.x, d.w}},
        {Opcode::MUL, Operands{d.x, d.w}},
        {Opcode::ALLREDUCE_SHARD, Operands{d.x, d.w, d.x}}};
    for (const auto &[op, operands] : cases)
      for (const double error : boundOf(op, caseOf(operands), n).error)
        REQUIRE(error == 0);
  }
}
