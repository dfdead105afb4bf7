//===- SignatureTest.cpp - The op table, params and type inference --------===//
#include "refops/core/Signature.h"
#include "refops/core/Spelling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tandem;

namespace {
TensorType type(DType dtype, std::vector<Dim> shape) { return {dtype, shape}; }

Params with(const char *name, ParamValue value) {
  Params params;
  params.values.emplace(name, std::move(value));
  return params;
}

/// The result type of an op with one result, or its errors.
std::string infer(Opcode op, std::vector<TensorType> operands,
                  const Params &params = {},
                  std::optional<DType> outDtype = std::nullopt) {
  const Result<std::vector<TensorType>> results =
      inferResults(opInfo(op), operands, params, std::nullopt, outDtype);
  if (!results)
    return results.error().text();
  REQUIRE(results->size() == 1);
  return (*results)[0].describe();
}

std::string paramErrors(Opcode op, const Params &params) {
  const Result<void> checked = checkParams(opInfo(op), params);
  return checked ? "ok" : checked.error().text();
}

const TensorType x = type(DType::BF16, {Dim("M"), Dim(64)});
const TensorType w = type(DType::F32, {Dim(64)});
const TensorType weight = type(DType::BF16, {Dim("N"), Dim(64)});
} // namespace

static std::string firstChoice(std::string_view range) {
  return std::string(range.substr(0, range.find('|')));
}

TEST_SUITE("op table") {
  TEST_CASE("codes are places in the table, and names are upper mnemonics") {
    // Recipes and plans store these codes: a new op comes behind them.
    const std::string_view frozen[] = {"NOP",
                                       "COPY",
                                       "EMBED",
                                       "RMSNORM",
                                       "LAYERNORM",
                                       "GEMV_TILE",
                                       "GEMM_TILE",
                                       "ATTENTION_TILE",
                                       "ATTENTION_COMBINE",
                                       "ROPE",
                                       "SILU_MUL",
                                       "GELU",
                                       "ADD",
                                       "MUL",
                                       "DEQUANT",
                                       "SOFTMAX",
                                       "KV_APPEND",
                                       "SAMPLE_ARGMAX",
                                       "ALLREDUCE_SHARD",
                                       "FUSED",
                                       "GDN_STEP",
                                       "ATTN_STEP",
                                       "LM_HEAD"};
    REQUIRE(opTable().size() >= std::size(frozen));
    for (size_t code = 0; code < std::size(frozen); ++code)
      CHECK(opTable()[code].name == frozen[code]);
    for (size_t code = 0; code < opTable().size(); ++code) {
      const OpInfo &op = opTable()[code];
      CHECK(static_cast<size_t>(op.code) == code);
      CHECK(&opInfo(op.code) == &op);
      CHECK(findOpInfo(op.name) == &op);
      CHECK(findOpInfo(op.mnemonic) == &op);
      CHECK(findOpInfo(std::to_string(code)) == &op);
      CHECK(op.defined == !op.summary.empty());
    }
    CHECK(opInfo(Opcode::LM_HEAD).mnemonic == "lm_head");
  }

  TEST_CASE("what is no op is not found") {
    for (const char *name : {"", "-1", "1x", "rms norm", "count"})
      CHECK(findOpInfo(name) == nullptr);
    CHECK(findOpInfo(std::to_string(opTable().size())) == nullptr);
  }

  TEST_CASE("the nearest name is suggested, and none when all are far") {
    CHECK(nearestOpName("rmsnrom") == "rmsnorm");
    CHECK(nearestOpName("RMS_NORM") == "rmsnorm");
    CHECK(nearestOpName("gemmtile") == "gemm_tile");
    CHECK(nearestOpName("ad") == "add");
    CHECK(nearestOpName("matmul") == "");
    CHECK(nearestOpName("") == "");
    CHECK(nearestOpName(std::string(1000000, 'a')) == "");
  }

  TEST_CASE("user text in messages stays on one short line") {
    CHECK(quote("a\nb") == "'a\\x0ab'");
    CHECK(quote(std::string(100, 'x')) == "'" + std::string(60, 'x') + "...'");
  }

  TEST_CASE("every signature of the table parses and names its operands once") {
    for (const OpInfo &op : opTable()) {
      if (!op.defined)
        continue;
      CAPTURE(op.mnemonic);
      const Signature &signature = signatureOf(op);
      const bool givesNothing = op.code == Opcode::NOP ||
                                op.code == Opcode::FUSED ||
                                op.code == Opcode::KV_APPEND;
      CHECK(signature.results.size() == (givesNothing ? 0 : 1));
      // States stand at the same place in all alternatives.
      for (const Signature &other : signaturesOf(op)) {
        REQUIRE(other.results.size() == signature.results.size());
        for (size_t i = 0; i < signature.operands.size(); ++i)
          if (signature.operands[i].isState)
            CHECK(other.operands[i].isState);
      }
      for (size_t i = 0; i < signature.operands.size(); ++i) {
        CHECK(!signature.operands[i].name.empty());
        for (size_t j = 0; j < i; ++j)
          CHECK(signature.operands[i].name != signature.operands[j].name);
        if (signature.operands[i].count != SignatureOperand::Count::One)
          CHECK(i + 1 == signature.operands.size());
      }
    }
    const Signature &norm = signatureOf(opInfo(Opcode::LAYERNORM));
    REQUIRE(norm.operands.size() == 3);
    CHECK(norm.operands[2].name == "b");
    CHECK(norm.operands[2].count == SignatureOperand::Count::Optional);
    CHECK(norm.operands[0].dims == std::vector<std::string>{"..", "K"});
    CHECK(norm.results[0].dtypeClass == "f");
  }

  TEST_CASE("every range of the table can be checked, and its default holds") {
    for (const OpInfo &op : opTable())
      for (const ParamInfo &info : op.params) {
        CAPTURE(op.mnemonic);
        CAPTURE(info.name);
        std::string text(info.defaultValue);
        if (text == "required")
          text = "";
        ParamValue value = int64_t(1);
        if (info.type == ParamType::Bool)
          value = text == "true";
        else if (info.type == ParamType::Float)
          value = text.empty() ? 1.0 : std::stod(text);
        else if (info.type == ParamType::String)
          value = text.empty() ? firstChoice(info.range) : text;
        else if (!text.empty())
          value = int64_t(std::stoll(text));
        Params params;
        params.values.emplace(info.name, value);
        for (const ParamInfo &other : op.params)
          if (other.defaultValue == "required")
            params.values.emplace(other.name, int64_t(1));
        CHECK(paramErrors(op.code, params) == "ok");
      }
  }
}

TEST_SUITE("params") {
  TEST_CASE("getters give the value or the fallback, floats rounded to f32") {
    Params params = with("eps", 0.1);
    params.values.emplace("n", int64_t(3));
    params.values.emplace("b", true);
    params.values.emplace("s", std::string("t"));
    CHECK(params.getFloat("eps", 1) == 0.1f);
    CHECK(params.getFloat("other", 0.5f) == 0.5f);
    CHECK(params.getInt("n", 1) == 3);
    CHECK(params.getInt("m", 1) == 1);
    CHECK(params.getBool("b", false));
    CHECK(!params.getBool("c", false));
    CHECK(params.getString("s", "u") == "t");
    CHECK(params.getString("v", "u") == "u");
  }

  TEST_CASE("values that are no float32 number are refused") {
    for (double value :
         {double(NAN), std::numeric_limits<double>::infinity(), 3.5e38, -1e300})
      CHECK(paramErrors(Opcode::MUL, with("scale", value))
                .starts_with("mul: param 'scale': expected a finite float32, "
                             "got "));
    CHECK(paramErrors(Opcode::MUL, with("scale", 3.4e38)) == "ok");
    CHECK(paramErrors(Opcode::RMSNORM, with("eps", NAN)) ==
          "rmsnorm: param 'eps': expected a finite float32, got nan");
  }

  TEST_CASE("all wrong params are listed") {
    Params params = with("weight_layuot", std::string("nk"));
    params.values.emplace("n_off", int64_t(-1));
    params.values.emplace("K", 64.0);
    params.values.emplace("weight_layout", std::string("mk"));
    params.values.emplace("invariant", int64_t(1));
    CHECK(paramErrors(Opcode::GEMM_TILE, params) ==
          "gemm_tile: param 'K': expected an integer, got 64\n"
          "gemm_tile: param 'invariant': expected true or false, got 1\n"
          "gemm_tile: param 'n_off': expected value >= 0, got -1\n"
          "gemm_tile: param 'weight_layout': expected 'nk' or 'kn', got 'mk'\n"
          "gemm_tile: no param is named 'weight_layuot'; did you mean "
          "'weight_layout'?");
    CHECK(paramErrors(Opcode::GELU, with("approximate", true)) ==
          "gelu: param 'approximate': expected a string, got true");
  }
}

TEST_SUITE("type inference") {
  TEST_CASE("results take the first float operand's dtype and the bound dims") {
    CHECK(infer(Opcode::RMSNORM, {x, w}) == "bfloat16[M, 64]");
    CHECK(infer(Opcode::RMSNORM, {x, w}, {}, DType::F16) == "float16[M, 64]");
    CHECK(infer(Opcode::GEMM_TILE, {x, weight}) == "bfloat16[M, N]");
    CHECK(infer(Opcode::GEMM_TILE, {x, weight, type(DType::F32, {Dim("N")})}) ==
          "bfloat16[M, N]");
    CHECK(infer(Opcode::SAMPLE_ARGMAX, {x}) == "int32[M]");
    CHECK(infer(Opcode::SAMPLE_ARGMAX, {w}) == "int32[]");
    CHECK(infer(Opcode::EMBED, {type(DType::I64, {Dim("B"), Dim(3)}),
                                type(DType::F16, {Dim(9), Dim("H")})}) ==
          "float16[B, 3, H]");
    CHECK(infer(Opcode::COPY, {type(DType::I8, {Dim(2)})}) == "int8[2]");
    CHECK(infer(Opcode::COPY, {x}, {}, DType::I8) == "int8[M, 64]");
    CHECK(infer(Opcode::ALLREDUCE_SHARD, {x, x, x}) == "bfloat16[M, 64]");
    CHECK(inferResults(opInfo(Opcode::NOP), {}, {})->empty());
  }

  TEST_CASE("shapes broadcast as in NumPy, a symbol only with itself and 1") {
    const auto add = [](std::vector<Dim> a, std::vector<Dim> b) {
      return infer(Opcode::ADD, {type(DType::F32, a), type(DType::F16, b)});
    };
    CHECK(add({Dim("M"), 64}, {64}) == "float32[M, 64]");
    CHECK(add({64}, {Dim("M"), 1}) == "float32[M, 64]");
    CHECK(add({1, Dim("N")}, {Dim("M"), 1}) == "float32[M, N]");
    CHECK(add({}, {Dim("M")}) == "float32[M]");
    CHECK(add({0}, {1}) == "float32[0]");
    CHECK(add({Dim("M")}, {Dim("M")}) == "float32[M]");
    CHECK(add({Dim("M")}, {Dim("N")}) ==
          "add: operand 'b': float16[N] does not broadcast with [M]");
    CHECK(add({Dim("M")}, {4}) ==
          "add: operand 'b': float16[4] does not broadcast with [M]");
    CHECK(add({0}, {2}) ==
          "add: operand 'b': float16[2] does not broadcast with [0]");
    CHECK(add({int64_t(1) << 40, 1}, {int64_t(1) << 40}) ==
          "add: result 'y': it has more than 2^62 elements");
  }

  TEST_CASE("the number of operands is the signature's") {
    CHECK(infer(Opcode::GELU, {x, x}) == "gelu: takes 1 operand (x), got 2");
    CHECK(infer(Opcode::MUL, {}) ==
          "mul: takes 1 to 2 operands (a, b?), got 0");
    CHECK(infer(Opcode::ALLREDUCE_SHARD, {}) ==
          "allreduce_shard: takes 1 or more operands (x...), got 0");
    CHECK(infer(Opcode::NOP, {x}) == "nop: takes 0 operands, got 1");
  }

  TEST_CASE("each mismatch names op, operand, expected and got") {
    CHECK(infer(Opcode::GELU, {type(DType::I32, {4})}) ==
          "gelu: operand 'x': expected a float dtype, got int32[4]");
    CHECK(infer(Opcode::EMBED, {x, weight}) ==
          "embed: operand 'ids': expected int32 or int64, got bfloat16[M, 64]");
    CHECK(infer(Opcode::RMSNORM, {x, type(DType::F32, {63})}) ==
          "rmsnorm: operand 'w': dim 0: expected K = 64 as in operand 'x', got "
          "float32[63]");
    CHECK(infer(Opcode::RMSNORM, {x, x}) ==
          "rmsnorm: operand 'w': expected rank 1, got bfloat16[M, 64]");
    CHECK(infer(Opcode::RMSNORM, {type(DType::F32, {}), w}) ==
          "rmsnorm: operand 'x': expected rank 1 or more, got float32[]");
    CHECK(infer(Opcode::SILU_MUL, {x, type(DType::F32, {Dim("N"), 64})}) ==
          "silu_mul: operand 'up': expected leading dims [M, 64] as in operand "
          "'gate', got float32[N, 64]");
    CHECK(infer(Opcode::ALLREDUCE_SHARD, {x, x, w}) ==
          "allreduce_shard: operand 'x[2]': expected leading dims [M, 64] as "
          "in operand 'x[0]', got float32[64]");
    CHECK(infer(Opcode::RMSNORM, {type(DType::F32, {Dim("K")}), w}) ==
          "rmsnorm: operand 'w': dim 0: expected K = K as in operand 'x', got "
          "float32[64]");
    CHECK(infer(Opcode::GELU, {type(DType::F32, {-4})}) ==
          "gelu: operand 'x': dim -4 is negative");
    CHECK(infer(Opcode::GELU, {type(DType::F32, std::vector<Dim>(9, 1))}) ==
          "gelu: operand 'x': rank 9 is above the limit of 8");
    CHECK(infer(Opcode::EMBED,
                {type(DType::I32, std::vector<Dim>(8, 1)), weight}) ==
          "embed: result 'y': rank 9 is above the limit of 8");
  }

  TEST_CASE("weight_layout kn swaps the dims of W") {
    const Params kn = with("weight_layout", std::string("kn"));
    const TensorType swapped = type(DType::BF16, {Dim(64), Dim("N")});
    CHECK(infer(Opcode::GEMM_TILE, {x, swapped}, kn) == "bfloat16[M, N]");
    CHECK(infer(Opcode::GEMM_TILE, {x, weight}, kn) ==
          "gemm_tile: operand 'W': dim 0: expected K = 64 as in operand 'x', "
          "got bfloat16[N, 64]");
  }

  TEST_CASE("params that repeat a size agree with it") {
    CHECK(infer(Opcode::GEMM_TILE, {x, weight}, with("K", int64_t(64))) ==
          "bfloat16[M, N]");
    CHECK(infer(Opcode::GEMM_TILE, {x, weight}, with("K", int64_t(63))) ==
          "gemm_tile: param 'K': expected 64, the size of the axis, got 63");
    CHECK(infer(Opcode::LAYERNORM, {x, w}, with("hidden", int64_t(65))) ==
          "layernorm: param 'hidden': expected 64, the size of the axis, got "
          "65");
  }

  TEST_CASE("a window starts inside N and may run over its end") {
    const TensorType fixed = type(DType::BF16, {10, 64});
    CHECK(infer(Opcode::GEMM_TILE, {x, fixed}, with("n_off", int64_t(10))) ==
          "bfloat16[M, 10]");
    CHECK(infer(Opcode::GEMM_TILE, {x, fixed}, with("n_off", int64_t(11))) ==
          "gemm_tile: param 'n_off': expected at most N = 10, got 11");
    CHECK(infer(Opcode::GEMM_TILE, {x, fixed}, with("N_tile", int64_t(64))) ==
          "bfloat16[M, 10]");
    CHECK(infer(Opcode::GEMM_TILE, {x, weight},
                with("N_tile", std::numeric_limits<int64_t>::max())) ==
          "gemm_tile: param 'N_tile': expected at most 2^62, got "
          "9223372036854775807");
  }

  TEST_CASE("zero sizes are refused where SEMANTICS says so, only there") {
    const auto zero = [](Opcode op, Dim m, Dim k, Dim n) {
      return infer(op, {type(DType::F32, {2, m, k}), type(DType::F32, {n, k})});
    };
    CHECK(zero(Opcode::GEMV_TILE, 0, 4, 4) == "gemv_tile: M = 0 is refused");
    CHECK(zero(Opcode::GEMV_TILE, 4, 0, 4) == "gemv_tile: K = 0 is refused");
    CHECK(zero(Opcode::GEMV_TILE, 4, 4, 0) == "gemv_tile: N = 0 is refused");
    CHECK(zero(Opcode::GEMV_TILE, Dim("M"), 4, 4) == "float32[2, M, 4]");
    CHECK(zero(Opcode::GEMM_TILE, 0, 0, 0) == "float32[2, 0, 0]");
    CHECK(infer(Opcode::SAMPLE_ARGMAX, {type(DType::F32, {3, 0})}) ==
          "sample_argmax: V = 0 is refused");
    CHECK(infer(Opcode::SAMPLE_ARGMAX, {type(DType::F32, {0, 3})}) ==
          "int32[0]");
    CHECK(infer(Opcode::SOFTMAX, {type(DType::F32, {0})}) == "float32[0]");
  }

  TEST_CASE("softmax has an axis to run along") {
    for (int64_t dim : {-2, -1, 0, 1})
      CHECK(infer(Opcode::SOFTMAX, {x}, with("dim", dim)) == "bfloat16[M, 64]");
    CHECK(infer(Opcode::SOFTMAX, {x}, with("dim", int64_t(2))) ==
          "softmax: param 'dim': expected -2 to 1, got 2");
    CHECK(infer(Opcode::SOFTMAX, {x}, with("dim", int64_t(-3))) ==
          "softmax: param 'dim': expected -2 to 1, got -3");
    CHECK(infer(Opcode::SOFTMAX, {type(DType::F32, {})}) ==
          "softmax: operand 'x': expected rank 1 or more, got float32[]");
  }
}
