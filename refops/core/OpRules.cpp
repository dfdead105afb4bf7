//===- OpRules.cpp - The rules that a signature cannot say ----------------===//
#include "refops/core/OpRules.h"
#include "refops/core/MapExpr.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <array>
#include <cassert>

using namespace tandem;

DimExpr tandem::parseDimExpr(std::string_view text) {
  if (text.starts_with("ceil(")) {
    assert(text.ends_with("/2)") && "only halves are rounded up");
    return {DimExpr::Kind::HalfUp, std::string(text.substr(5, text.size() - 8)),
            "", 0};
  }
  const size_t at = text.find_first_of("*+");
  assert(at != std::string_view::npos && "a dim is a name or an expression");
  const std::string name(text.substr(0, at)), other(text.substr(at + 1));
  if (text[at] == '*')
    return {DimExpr::Kind::Times, name, other, 0};
  return {DimExpr::Kind::Plus, name, "", std::stoll(other)};
}

std::optional<int64_t> tandem::evaluate(const DimExpr &expr,
                                        const StepFacts &facts) {
  const std::optional<int64_t> a = facts.size(expr.name);
  if (!a)
    return std::nullopt;
  switch (expr.kind) {
  case DimExpr::Kind::HalfUp:
    return *a / 2 + *a % 2;
  case DimExpr::Kind::Plus:
    return *a + expr.number;
  case DimExpr::Kind::Times:
    break;
  }
  const std::optional<int64_t> b = facts.size(expr.other);
  int64_t product = 0;
  if (!b || __builtin_mul_overflow(*a, *b, &product))
    return std::nullopt;
  return product;
}

static bool isZero(const Dim &dim) {
  return !dim.isSymbol() && dim.size() == 0;
}

namespace {
class Rules {
public:
  Rules(StepFacts &facts, const std::function<void(const std::string &)> &fail)
      : facts(facts), params(facts.params), fail(fail) {}

  void run() {
    checkRepeated();
    switch (facts.op.code) {
    case Opcode::GEMV_TILE:
      refuseZero("M", facts.leading ? *facts.leading : std::vector<Dim>());
      refuseZeros({"K", "N"});
      [[fallthrough]];
    case Opcode::GEMM_TILE:
      checkWindow();
      checkQuantised("W", 1);
      break;
    case Opcode::LM_HEAD:
      refuseZeros({"K", "N"});
      break;
    case Opcode::SAMPLE_ARGMAX:
      refuseZeros({"V"});
      break;
    case Opcode::SOFTMAX:
      checkAxis();
      break;
    case Opcode::MAP:
      if (const auto parsed =
              parseMapExpr(params.getString("expr", ""), facts.operands.size());
          !parsed)
        fail("expr: " + parsed.error().text());
      break;
    case Opcode::DEQUANT:
      bindDequantised();
      checkQuantised("q", 0);
      break;
    case Opcode::ROPE:
      checkRotation();
      break;
    case Opcode::ATTENTION_TILE:
      if ((params.getInt("flags", 0) & 2) && !facts.size("D"))
        fail("operand 'q': PARTIAL_WRITE needs a head dim that is a number, "
             "got " +
             facts.operands[0].describe());
      checkKeys();
      checkMultiple("h", "query heads", "kvh", "key and value heads");
      break;
    case Opcode::ATTN_STEP:
      checkSlots("one row still fits", 1);
      checkMultiple("h", "query heads", "kvh", "key and value heads");
      break;
    case Opcode::KV_APPEND:
      checkSlots("the new rows still fit",
                 facts.dim("n") ? facts.size("n") : 1);
      break;
    case Opcode::GDN_STEP:
      checkMultiple("Hv", "value heads", "Hk", "key heads");
      break;
    default:
      break;
    }
    checkParamVectors();
  }

private:
  /// Params that repeat a dim must agree with it.
  void checkRepeated() {
    struct Repeated {
      std::string_view param, dim;
    };
    static constexpr std::array<Repeated, 5> all = {{{"K", "K"},
                                                     {"hidden", "K"},
                                                     {"head_dim", "D"},
                                                     {"n_heads", "h"},
                                                     {"n_kv_heads", "kvh"}}};
    for (const Repeated &repeated : all) {
      const std::optional<int64_t> size = facts.size(repeated.dim);
      if (!params.has(repeated.param) || !size)
        continue;
      const int64_t value = params.getInt(repeated.param, 0);
      if (value != *size)
        fail("param '" + std::string(repeated.param) + "': expected " +
             std::to_string(*size) + ", the size of the axis, got " +
             std::to_string(value));
    }
  }

  void refuseZero(std::string_view name, const std::vector<Dim> &dims) {
    if (std::any_of(dims.begin(), dims.end(), isZero))
      fail(std::string(name) + " = 0 is refused");
  }

  void refuseZeros(std::initializer_list<const char *> names) {
    for (const char *name : names)
      if (const Dim *dim = facts.dim(name))
        refuseZero(name, {*dim});
  }

  void checkWindow() {
    // Then n_off + N_tile fits 64 bits.
    for (const char *name : {"n_off", "N_tile"})
      if (params.getInt(name, 0) > maxDim)
        fail("param '" + std::string(name) + "': expected at most 2^62, got " +
             std::to_string(params.getInt(name, 0)));
    const std::optional<int64_t> n = facts.size("N");
    const int64_t offset = params.getInt("n_off", 0);
    if (n && offset > *n)
      fail("param 'n_off': expected at most N = " + std::to_string(*n) +
           ", got " + std::to_string(offset));
  }

  void checkAxis() {
    const TensorType &x = facts.operands[0];
    const int64_t rank = static_cast<int64_t>(x.shape.size());
    const int64_t dim = params.getInt("dim", -1);
    if (rank == 0)
      fail("operand 'x': expected rank 1 or more, got " + x.describe());
    else if (dim < -rank || dim >= rank)
      fail("param 'dim': expected " + std::to_string(-rank) + " to " +
           std::to_string(rank - 1) + ", got " + std::to_string(dim));
  }

  /// Packed int4 does not say whether its last byte holds one column or two.
  void bindDequantised() {
    const TensorType &q = facts.operands[0];
    if (facts.dim("K"))
      return;
    if (params.has("K"))
      facts.dims.emplace("K", Dim(params.getInt("K", 0)));
    else if (facts.outShape && facts.outShape->size() == 2)
      facts.dims.emplace("K", (*facts.outShape)[1]);
    else if (!q.shape[1].isSymbol() && q.shape[1].size() <= maxDim / 2)
      facts.dims.emplace("K", Dim(2 * q.shape[1].size()));
    else
      return fail("param 'K': needed where the packed columns are a symbol");
    const std::optional<int64_t> bytes =
        evaluate({DimExpr::Kind::HalfUp, "K", "", 0}, facts);
    if (bytes && !q.shape[1].isSymbol() && q.shape[1].size() != *bytes)
      fail("operand 'q': expected ceil(K/2) = " + std::to_string(*bytes) +
           " columns, got " + q.describe());
  }

  void checkQuantised(const char *name, size_t operand) {
    const DType dtype = facts.operands[operand].dtype;
    const bool isQuantised = dtype == DType::I8 || dtype == DType::U8;
    const std::string stored = dtype == DType::I8 ? "int8" : "int4";
    const std::string given = params.getString("qdtype", stored);
    if (!isQuantised) {
      for (const char *param : {"qdtype", "group", "weight_dtype"})
        if (params.has(param))
          fail("param '" + std::string(param) + "': operand '" + name +
               "' is not quantised, it is " +
               facts.operands[operand].describe());
      return;
    }
    if (given != stored)
      fail("param 'qdtype': expected " + stored + " for operand '" + name +
           "' of " + std::string(dtypeName(dtype)) + ", got " + given);
    if (params.getString("weight_layout", "nk") == "kn")
      fail("param 'weight_layout': expected nk for quantised weights, got kn");
    refuseZeros({"G"});
  }

  void checkRotation() {
    const std::optional<int64_t> d = facts.size("D");
    if (!d && !params.has("rotary_dim"))
      return;
    const bool isGiven = params.has("rotary_dim");
    const int64_t turned = params.getInt("rotary_dim", d.value_or(0));
    const std::string what = isGiven ? "param 'rotary_dim'" : "head_dim";
    if (turned % 2 != 0)
      return fail(what + ": expected an even number, got " +
                  std::to_string(turned));
    if (d && turned > *d)
      return fail(what + ": expected at most head_dim = " + std::to_string(*d) +
                  ", got " + std::to_string(turned));
    const std::optional<int64_t> half = facts.size("half");
    if (half && *half != turned / 2)
      fail("operand 'inv_freq': expected " + std::to_string(turned / 2) +
           " frequencies, half of what turns, got " + std::to_string(*half));
  }

  /// The param, unless it is on the device.
  std::optional<int64_t> onHost(const char *name) const {
    if (!params.has(name) || params.operandOf(name))
      return std::nullopt;
    return params.getInt(name, 0);
  }

  /// Rows of a cache that the host knows must be there.
  void checkSlots(const char *what, std::optional<int64_t> rows) {
    const std::optional<int64_t> slots = facts.size("S"), pos = onHost("pos");
    const Dim *batch = facts.dim("B");
    if (slots && pos && rows && *rows && !(batch && isZero(*batch)) &&
        *pos > *slots - *rows)
      fail("param 'pos': expected at most " + std::to_string(*slots - *rows) +
           ", where " + what + " the " + std::to_string(*slots) +
           " slots of the cache, got " + std::to_string(*pos));
  }

  /// The same for a window of keys.
  void checkKeys() {
    const std::optional<int64_t> slots = facts.size("S");
    const std::optional<int64_t> start =
        params.has("kv_start") ? onHost("kv_start") : 0;
    const std::optional<int64_t> count = onHost("kv_len");
    if (slots && start && *start > *slots)
      fail("param 'kv_start': expected at most " + std::to_string(*slots) +
           ", the slots of the cache, got " + std::to_string(*start));
    else if (slots && count && *count > *slots - start.value_or(0))
      fail("param 'kv_len': expected at most " +
           std::to_string(*slots - start.value_or(0)) + ", to the end of the " +
           std::to_string(*slots) + " slots of the cache, got " +
           std::to_string(*count));
  }

  void checkMultiple(const char *many, const char *manyAre, const char *few,
                     const char *fewAre) {
    const std::optional<int64_t> a = facts.size(many), b = facts.size(few);
    if (!a || !b || (*b != 0 && *a % *b == 0) || (*a == 0 && *b == 0))
      return;
    fail("expected a number of " + std::string(manyAre) +
         " that is a multiple of the " + std::to_string(*b) + " " + fewAre +
         ", got " + std::to_string(*a));
  }

  /// A param on the device is one number, or one a sequence.
  void checkParamVectors() {
    for (const auto &[name, value] : params.values) {
      const OperandParam *held = std::get_if<OperandParam>(&value);
      if (!held)
        continue;
      const TensorType &type =
          facts.operands[static_cast<size_t>(held->operand)];
      if (type.shape.empty() || type.shape[0] == Dim(1))
        continue;
      const Dim *batch = facts.dim("B");
      if (!batch)
        fail("param '" + name + "': expected int32[] or int32[1], got " +
             type.describe());
      else if (*batch != type.shape[0] &&
               !(type.shape[0].isSymbol() != batch->isSymbol()))
        fail("param '" + name + "': expected int32[], int32[1] or int32[" +
             batch->text() + "], got " + type.describe());
    }
  }

  StepFacts &facts;
  const Params &params;
  const std::function<void(const std::string &)> &fail;
};
} // namespace

void tandem::checkOpRules(
    StepFacts &facts, const std::function<void(const std::string &)> &fail) {
  Rules(facts, fail).run();
}

bool tandem::adjustResult(const StepFacts &facts, TensorType &result) {
  constexpr int64_t partialWrite = 2;
  if (facts.op.code != Opcode::ATTENTION_TILE ||
      !(facts.params.getInt("flags", 0) & partialWrite))
    return false;
  result.dtype = DType::F32;
  // A head dim that is a symbol is refused with the result.
  if (!result.shape.back().isSymbol())
    result.shape.back() = Dim(result.shape.back().size() + 2);
  return true;
}
