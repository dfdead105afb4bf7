//===- Rules.cpp - What a signature cannot say ----------------------------===//
#include "harness/gen/Rules.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::harness;

bool tandem::harness::isFuzzable(const OpInfo &op) {
  return op.defined && op.code != Opcode::NOP && op.code != Opcode::FUSED;
}

bool tandem::harness::refusesEmpty(Opcode op, std::string_view dim) {
  switch (op) {
  case Opcode::GEMV_TILE:
  case Opcode::LM_HEAD:
    return true; // M, K and N (SEMANTICS, "Conventions")
  case Opcode::KV_APPEND:
  case Opcode::ATTN_STEP: // an empty cache has no slot for a row
  case Opcode::DEQUANT:
    return dim == "S" || dim == "G";
  case Opcode::SAMPLE_ARGMAX:
  case Opcode::EMBED: // an empty table has no valid id
    return dim == "V";
  default:
    return false;
  }
}

bool tandem::harness::isReduced(Opcode op, size_t index) {
  switch (op) {
  case Opcode::GEMM_TILE:
  case Opcode::GEMV_TILE:
  case Opcode::LM_HEAD:
    return index < 2;
  case Opcode::ATTENTION_TILE:
  case Opcode::ATTN_STEP:
    // With both large, one key takes all and no other weight is tested.
    return index > 0;
  case Opcode::ATTENTION_COMBINE:
  case Opcode::GDN_STEP:
    return true;
  case Opcode::SOFTMAX:
  case Opcode::SAMPLE_ARGMAX:
  case Opcode::RMSNORM:
  case Opcode::LAYERNORM:
    return index == 0;
  default:
    return false;
  }
}

bool tandem::harness::isZeroPoint(Opcode op, size_t index) {
  switch (op) {
  case Opcode::GEMM_TILE:
  case Opcode::GEMV_TILE:
  case Opcode::LM_HEAD:
    return index == 3;
  case Opcode::DEQUANT:
    return index == 2;
  default:
    return false;
  }
}

int64_t tandem::harness::workLimit(Opcode op, int64_t elements) {
  const bool isMatmul = op == Opcode::GEMM_TILE || op == Opcode::GEMV_TILE;
  return isMatmul ? 16 * elements : elements;
}

static std::optional<double> drawFloat(Choices &choices, Opcode op,
                                       std::string_view name) {
  static constexpr double eps[] = {1e-5, 1e-6, 1e-3, 1, 0};
  static constexpr double other[] = {0.5, -1, 2, 3.1415927, 1e-3, 1e4, 0};
  if (name == "theta") {
    static constexpr double theta[] = {500000, 1, 1e6, 0.5};
    const size_t base = choices.pick({5, 3, 1, 1, 1});
    return base ? std::optional(theta[base - 1]) : std::nullopt;
  }
  if (name == "scale" &&
      (op == Opcode::ATTENTION_TILE || op == Opcode::ATTN_STEP)) {
    // Scores of ordinary size, where every weight counts; the others make one
    // key take all.
    static constexpr double scale[] = {0.125, 1e-3, -0.5, 1, 0, 1e4};
    const size_t factor = choices.pick({12, 4, 1, 1, 1, 1, 1});
    return factor ? std::optional(scale[factor - 1]) : std::nullopt;
  }
  if (name == "eps") {
    const size_t which = choices.pick({5, 3, 2, 1, 1, 1});
    return which ? std::optional(eps[which - 1]) : std::nullopt;
  }
  const size_t which = choices.pick({2, 3, 2, 2, 3, 2, 1, 1});
  return which ? std::optional(other[which - 1]) : std::nullopt;
}

/// Params that only quantised weights have.
static bool isQuantisedOnly(const std::string &name) {
  return name == "qdtype" || name == "weight_dtype";
}

/// Integers that say where in a cache, how long a group, how many dims.
static std::optional<int64_t>
drawMeaning(Choices &choices, const OpInfo &op, const std::string &name,
            const std::map<std::string, int64_t> &sizes, const Params &params) {
  const auto sizeOf = [&](const char *dim) {
    const auto found = sizes.find(dim);
    return found == sizes.end() ? int64_t(0) : found->second;
  };
  const auto upTo = [&](int64_t most) {
    return static_cast<int64_t>(
        choices.draw(static_cast<uint64_t>(std::max<int64_t>(most, 0)) + 1));
  };
  if (name == "K" && op.code == Opcode::DEQUANT)
    return sizeOf("K");
  if (name == "group" && sizes.contains("G")) {
    // As long as the groups are many: then also shorter, so that the last
    // scales repeat, and longer than K.
    const int64_t k = sizeOf("K"), g = std::max<int64_t>(sizeOf("G"), 1);
    const int64_t length = std::max<int64_t>(1, (k + g - 1) / g);
    switch (choices.pick({6, g == 1 ? 2 : 0, 2, 1})) {
    case 1:
      return std::nullopt;
    case 2:
      return 1 + upTo(length - 1);
    case 3:
      return length + k;
    default:
      return length;
    }
  }
  if (name == "rotary_dim" && sizes.contains("half") &&
      2 * sizeOf("half") != sizeOf("D"))
    return 2 * sizeOf("half");
  if (name == "flags")
    return static_cast<int64_t>(choices.pick({4, 1, 3, 1}));
  if (name == "pos") {
    // Mostly room for all rows; the last slot; one too far.
    const int64_t rows = sizes.contains("n") ? sizeOf("n") : 1;
    const int64_t last = std::max<int64_t>(0, sizeOf("S") - rows);
    const size_t which = choices.pick({5, 3, 0});
    return which == 0 ? upTo(last) : last;
  }
  if (name == "kv_start" && choices.rarely(2))
    return upTo(sizeOf("S"));
  if (name == "kv_len" && choices.rarely(2))
    return upTo(sizeOf("S") - params.getInt("kv_start", 0));
  return std::nullopt;
}

Params tandem::harness::drawParams(Choices &choices, const OpInfo &op,
                                   const std::map<std::string, int64_t> &sizes,
                                   size_t rank, bool isAlone) {
  Params params;
  for (const ParamInfo &info : op.params) {
    const std::string name(info.name);
    switch (info.type) {
    case ParamType::Bool:
      if (choices.rarely(6))
        params.values[name] = true;
      break;
    case ParamType::Float:
      if (std::optional<double> value = drawFloat(choices, op.code, name))
        params.values[name] = *value;
      break;
    case ParamType::String: {
      // An expression depends on the operands, which come later.
      if (op.code == Opcode::MAP)
        break;
      std::vector<std::string> words(1);
      for (char c : info.range)
        if (c == '|')
          words.emplace_back();
        else
          words.back() += c;
      if (isQuantisedOnly(name) && !sizes.contains("G"))
        break;
      // Quantised weights have one layout, and their dtype says which they are.
      if (sizes.contains("G") && (name == "weight_layout" || name == "qdtype"))
        break;
      const size_t which = choices.draw(words.size() + 1);
      if (which > 0)
        params.values[name] = words[which - 1];
      break;
    }
    case ParamType::Int:
      if (name == "dim" && rank > 0) {
        // 0 leaves the default; then every axis, counted from either end.
        const size_t which =
            choices.draw(2 * rank + 1, [rank](Random &random) -> uint64_t {
              return random.below(5) < 3 ? 0 : random.below(2 * rank + 1);
            });
        if (which > 0)
          params.values[name] =
              static_cast<int64_t>(which) - 1 - static_cast<int64_t>(rank);
      } else if (name == "n_off" && isAlone && sizes.contains("N")) {
        const int64_t columns = sizes.at("N");
        if (choices.rarely(5))
          params.values[name] = static_cast<int64_t>(
              choices.draw(static_cast<uint64_t>(columns) + 1));
      } else if (name == "N_tile" && isAlone && sizes.contains("N")) {
        if (choices.rarely(5))
          params.values[name] = static_cast<int64_t>(
              choices.draw(static_cast<uint64_t>(sizes.at("N")) + 2));
      } else if (std::optional<int64_t> value =
                     drawMeaning(choices, op, name, sizes, params)) {
        params.values[name] = *value;
      }
      break;
    }
  }
  return params;
}

std::map<std::string, std::string>
tandem::harness::drawSchedule(Choices &choices, const Recipe &recipe) {
  enum Reader { Rows, Products, Tiles, Windows };
  struct Parameter {
    const char *name;
    Reader reader;
    std::vector<int> values;
  };
  // Short blocks make rows loop, odd splits of rows and warps move every tail.
  static const std::vector<Parameter> parameters = {
      {"block", Rows, {64, 8, 32, 512}}, {"chunk", Rows, {64, 32, 256}},
      {"rows", Rows, {1, 2, 8}},         {"warps", Rows, {1, 2, 8}},
      {"tile_m", Tiles, {32, 64, 128}},  {"tile_n", Products, {32, 64, 128}},
      {"tile_k", Products, {32, 64}},    {"stages", Tiles, {0}},
      {"cluster_m", Tiles, {2}},         {"cluster_n", Tiles, {2}},
      {"splits", Windows, {2, 4, 8}},    {"columns", Windows, {16, 32}},
      {"tiles", Windows, {2, 1}},        {"heads", Windows, {1, 2}},
  };
  if (!choices.rarely(8))
    return {};
  Reader reader = Rows;
  for (const Step &step : recipe.steps)
    switch (step.op) {
    case Opcode::GEMM_TILE:
      reader = Tiles;
      break;
    case Opcode::GEMV_TILE:
    case Opcode::LM_HEAD:
      reader = std::max(reader, Products);
      break;
    case Opcode::ATTENTION_TILE:
    case Opcode::ATTN_STEP:
      reader = Windows;
      break;
    case Opcode::GDN_STEP:
      return {}; // its family has no such parameters
    default:
      break;
    }
  std::vector<int> weights;
  for (const Parameter &parameter : parameters)
    weights.push_back(parameter.reader == reader ||
                      (reader == Tiles && parameter.reader == Products));
  const size_t which = choices.pick(weights);
  const Parameter &parameter = parameters[which];
  // A replayed choice may name a parameter that nothing here reads.
  if (!weights[which])
    return {};
  const int value = parameter.values[choices.draw(parameter.values.size())];
  return {{parameter.name, std::to_string(value)}};
}
