//===- map.cpp - Reference for insn.map -----------------------------------===//
#include "refops/Registry.h"
#include "refops/core/MapExpr.h"

using namespace tandem;
using namespace tandem::refops;

namespace {
using Code = MapInstruction::Code;

/// Whether a relation holds: for certain, or perhaps.
struct Truth {
  bool holds = false;
  bool isCertain = true;
};
} // namespace

static bool compare(Code code, double a, double b) {
  switch (code) {
  case Code::Less:
    return a < b;
  case Code::LessEqual:
    return a <= b;
  case Code::Greater:
    return a > b;
  case Code::GreaterEqual:
    return a >= b;
  case Code::Equal:
    return a == b;
  default:
    return a != b;
  }
}

template <typename T>
static Truth relate(Code code, const T &a, const T &b) {
  const double x = valueOf(a), y = valueOf(b);
  const double error = errorOf(a) + errorOf(b);
  // With an error, the two may meet; an equality of such numbers always may.
  const bool isCertain =
      error == 0 || (error < infinity && std::fabs(x - y) > error);
  return {compare(code, x, y), isCertain};
}

static double floorOf(double x) { return std::floor(x); }

/// At a step of the staircase the bound is the hull of both sides.
static Bounded floorOf(const Bounded &x) {
  const double value = std::floor(x.value);
  if (x.error == 0 || !x.hasVerdict())
    return {value, x.error};
  return {value, std::max(std::floor(x.value + x.error) - value,
                          value - std::floor(x.value - x.error))};
}

static double absOf(double x) { return std::fabs(x); }
static Bounded absOf(const Bounded &x) { return {std::fabs(x.value), x.error}; }

static double select(const Truth &truth, double x, double y) {
  return truth.holds ? x : y;
}

/// Where the relation is in doubt, the hull of both sides.
static Bounded select(const Truth &truth, const Bounded &x, const Bounded &y) {
  const Bounded &chosen = truth.holds ? x : y;
  const Bounded &other = truth.holds ? y : x;
  if (truth.isCertain)
    return chosen;
  const double apart = std::fabs(chosen.value - other.value);
  if (chosen.value == other.value)
    return {chosen.value, std::max(chosen.error, other.error)};
  if (!(apart < infinity))
    return noVerdict(chosen.value);
  return {chosen.value, std::max(chosen.error, apart + other.error)};
}

template <typename T>
static T apply(Code code, const T &x, const StepNumerics &n) {
  switch (code) {
  case Code::Negate:
    return -x;
  case Code::Exp:
    return exp(x, n);
  case Code::Sqrt:
    return sqrt(x, n);
  case Code::Rsqrt:
    return rsqrt(x, n);
  case Code::Tanh:
    return tanh(x, n);
  case Code::Sigmoid:
    return sigmoid(x, n);
  case Code::Erfc:
    return erfc(x, n);
  case Code::Abs:
    return absOf(x);
  case Code::Floor:
    return floorOf(x);
  case Code::Relu:
    return maximum(x, T(0));
  default:
    return mul(x, sigmoid(x, n), n); // silu
  }
}

template <typename T>
static T apply(Code code, const T &x, const T &y, const StepNumerics &n) {
  switch (code) {
  case Code::Add:
    return add(x, y, n);
  case Code::Subtract:
    return sub(x, y, n);
  case Code::Multiply:
    return mul(x, y, n);
  case Code::Divide:
    return div(x, y, n);
  case Code::Min:
    return -maximum(T(-x), T(-y));
  default:
    return maximum(x, y);
  }
}

static int numArguments(Code code) {
  if (code == Code::Number || code == Code::Operand)
    return 0;
  if (code == Code::Where)
    return 3; // the relation stands in its truth
  const bool isBinary = (code >= Code::Add && code <= Code::NotEqual) ||
                        code == Code::Min || code == Code::Max;
  return isBinary ? 2 : 1;
}

/// The value of the expression for element \p e of the operands' \p rows.
template <typename T>
static T element(const std::vector<MapInstruction> &program,
                 const std::vector<std::vector<T>> &rows, size_t e,
                 std::vector<T> &stack, std::vector<Truth> &truths,
                 const StepNumerics &n) {
  stack.clear();
  truths.clear();
  const auto pop = [&] {
    const T top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const MapInstruction &i : program) {
    if (i.code == Code::Number) {
      stack.push_back(T(i.number));
    } else if (i.code == Code::Operand) {
      stack.push_back(rows[static_cast<size_t>(i.operand)][e]);
    } else if (i.code == Code::Where) {
      const T no = pop(), yes = pop();
      stack.push_back(select(truths.back(), yes, no));
      truths.pop_back();
    } else if (numArguments(i.code) == 1) {
      stack.push_back(apply(i.code, pop(), n));
    } else {
      const T right = pop(), left = pop();
      if (i.code >= Code::Less && i.code <= Code::NotEqual)
        truths.push_back(relate(i.code, left, right));
      else
        stack.push_back(apply(i.code, left, right, n));
    }
  }
  return stack.back();
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  Result<std::vector<MapInstruction>> program =
      parseMapExpr(call.params->getString("expr", ""), call.in.size());
  if (!program)
    return Error("map: param 'expr': " + program.error().text());
  Sink &y = call.out[0];
  std::vector<Source> in;
  for (const Source &source : call.in)
    in.push_back(source.broadcastTo(y.shape()));
  forBlocks(
      call, y.desc().numElements(), in.size() + 1,
      16 * static_cast<int64_t>(program->size()),
      [&](int64_t first, int64_t count, std::vector<std::vector<T>> &rows) {
        for (size_t i = 0; i < in.size(); ++i)
          in[i].read(first, count, rows[i].data());
        std::vector<T> stack;
        std::vector<Truth> truths;
        for (int64_t e = 0; e < count; ++e)
          rows.back()[static_cast<size_t>(e)] =
              element(*program, rows, static_cast<size_t>(e), stack, truths,
                      *call.numerics);
        y.write(first, count, rows.back().data());
      });
  return {};
}

RefOp tandem::refops::ref_map() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32;
  const auto expr = [](const char *text) {
    return Params{{{"expr", std::string(text)}}};
  };
  return {
      .code = Opcode::MAP,
      .name = "map",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells left from right association, and a sign from a difference.
          {.name = "operators_associate_to_the_left",
           .inputs = {{f32, {2}, {8, -8}},
                      {f32, {2}, {4, 4}},
                      {f32, {2}, {2, 2}}},
           .params = expr("a - b - c + a / b / c * -c"),
           .expected = {{f32, {2}, {0, -12}}},
           .from = {ByHand,
                    "8 - 4 - 2 = 2 and 8 / 4 / 2 * -2 = -2; -8 - 4 - 2 = "
                    "-14 and -8 / 4 / 2 * -2 = 2"}},
          {.name = "a_gate_with_a_residual",
           .inputs = {{f32, {3}, {4, -2, 6}},
                      {f32, {1}, {0}},
                      {f32, {3}, {1, 1, -1}}},
           .params = expr("a*sigmoid(b)+c"),
           .expected = {{f32, {3}, {3, 0, 2}}},
           .from = {ByHand, "sigmoid(0) is 1/2: 2 + 1, -1 + 1, 3 - 1"}},
          {.name = "floor_goes_down_and_relations_are_strict",
           .inputs = {{f32, {4}, {-0.5, 2, 2.75, NAN}}},
           .params = expr("where(a < 2, floor(a), where(a != a, 7, abs(-a)))"),
           .expected = {{f32, {4}, {-1, 2, 2.75, 7}}},
           .from = {ByHand, "floor(-0.5) = -1; 2 < 2 is false; NaN is below "
                            "nothing and differs from itself"}},
          {.name = "nan_wins_in_min_and_max",
           .inputs = {{f32, {3}, {NAN, 1, -3}}, {f32, {3}, {0, NAN, 2}}},
           .params = expr("max(a, b) + min(a, b) + relu(a)"),
           .expected = {{f32, {3}, {NAN, NAN, -1}}},
           .from = {ByHand, "2 + -3 + 0; everything with NaN is NaN"}},
          {.name = "roots",
           .inputs = {{f32, {2}, {16, 0.25}}},
           .params = expr("sqrt(a) * rsqrt(a) + 1.5e0 * silu(0)"),
           .expected = {{f32, {2}, {1, 1}}},
           .from = {ByHand, "4 * 1/4 and 1/2 * 2; silu(0) = 0"}},
      }};
}
