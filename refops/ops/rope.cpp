//===- rope.cpp - Reference for insn.rope ---------------------------------===//
#include "refops/Registry.h"
#include "refops/core/HostNumbers.h"

using namespace tandem;
using namespace tandem::refops;

/// The given frequencies, or those that the host computes.
template <typename T>
static std::vector<T> frequenciesOf(const OpCall<T> &call, int64_t half) {
  if (call.in.size() == 3)
    return call.in[2].template readAll<T>();
  const std::vector<float> table =
      ropeFrequencies(call.params->getFloat("theta", 10000), half);
  return {table.begin(), table.end()};
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const StepNumerics &n = *call.numerics;
  const Source &x = call.in[0], &positions = call.in[1];
  Sink &y = call.out[0];
  const int64_t width = x.shape().back();
  const int64_t heads = x.shape()[x.shape().size() - 2];
  const int64_t turned = call.params->getInt("rotary_dim", width);
  const size_t half = static_cast<size_t>(turned / 2);
  const std::vector<T> frequencies =
      frequenciesOf(call, static_cast<int64_t>(half));
  const int64_t elements = x.desc().numElements();
  const int64_t tokens = elements ? elements / (heads * width) : 0;
  // One position a token, or one for each token of every sequence.
  const int64_t numPositions = positions.desc().numElements();
  forRows(call, tokens, heads * width * 8 + 64 * turned,
          [&, row = std::vector<T>(static_cast<size_t>(width)),
           cosine = std::vector<T>(half),
           sine = std::vector<T>(half)](int64_t token) mutable {
            const int64_t at = token % numPositions;
            const T position = static_cast<float>(positions.readInteger(at));
            const bool certain = isCertain(positions, at);
            for (size_t i = 0; i < half; ++i) {
              const T angle = mulF32(position, frequencies[i]);
              cosine[i] = cos(certain ? angle : withoutVerdict(angle), n);
              sine[i] = sin(certain ? angle : withoutVerdict(angle), n);
            }
            for (int64_t h = 0; h < heads; ++h) {
              const int64_t first = (token * heads + h) * width;
              x.read(first, width, row.data());
              for (size_t i = 0; i < half; ++i) {
                const T a = row[i], b = row[i + half];
                row[i] = mulAdd(-b, sine[i], mul(a, cosine[i], n), n);
                row[i + half] = mulAdd(a, sine[i], mul(b, cosine[i], n), n);
              }
              y.write(first, width, row.data());
            }
          });
  return {};
}

RefOp tandem::refops::ref_rope() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, f16 = DType::F16, i32 = DType::I32,
              i64 = DType::I64;
  const std::string command = "python3 refops/evidence/rope.py";
  return {
      .code = Opcode::ROPE,
      .name = "rope",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells pairs (i, i + half) from neighbours (2i, 2i + 1), and the
          // sign of the rotation.
          {.name = "halves_turn_together",
           .inputs = {{f32, {1, 4}, {1, 2, 3, 4}},
                      {i32, {1}, {1}},
                      {f32, {2}, {1, 0.5}}},
           .expected = {{f32,
                         {1, 4},
                         {-1.9841106485555497, -0.16253703063606656,
                          2.4623779024123156, 4.469181324769897}}},
           .from = {HighPrecision,
                    "x0 cos 1 - x2 sin 1, x1 cos 0.5 - x3 sin "
                    "0.5, and the other halves, in 50 digits",
                    command}},
          // Tells theta^(-i / half) from theta^(-i / D), and an angle rounded
          // to f32 from one in double.
          {.name = "default_frequencies_far_out",
           .inputs = {{f32, {2, 1, 4}, {1, 0, 0, 1, 1, 0, 0, 1}},
                      {i32, {2}, {131071, 1048576}}},
           .expected = {{f32,
                         {2, 1, 4},
                         {-0.8179834993879491, 0.617707649738009,
                          -0.5752416837547893, -0.7864078200623041,
                          0.943808393901312, 0.7685118486965665,
                          0.3304931400217347, 0.639835555758654}}},
           .from = {HighPrecision,
                    "frequencies 1 and f32(0.01); angles "
                    "rounded to f32; sin and cos in 50 digits",
                    command}},
          {.name = "the_rest_is_copied",
           .inputs = {{f16, {1, 4}, {1, 2, 3, INFINITY}}, {i32, {1}, {1}}},
           .params = {{{"rotary_dim", int64_t(2)}}},
           .expected = {{f16,
                         {1, 4},
                         {-1.1426396637476532, 1.922075596544176, 3,
                          INFINITY}}},
           .from = {HighPrecision, "elements 0 and 1 turn by 1 radian",
                    command}},
          // Tells positions a sequence from positions a token, and heads from
          // tokens.
          {.name = "sequences_share_positions",
           .inputs = {{f32,
                       {2, 2, 2, 2},
                       {1, 2, 3, 4, 1, 0, 0, 1, 5, 6, 7, 8, 1, 0, 0, 1}},
                      {i64, {2}, {0, 2}}},
           .expected = {{f32,
                         {2, 2, 2, 2},
                         {1, 2, 3, 4, -0.4161468365471424, 0.9092974268256817,
                          -0.9092974268256817, -0.4161468365471424, 5, 6, 7, 8,
                          -0.4161468365471424, 0.9092974268256817,
                          -0.9092974268256817, -0.4161468365471424}}},
           .from = {HighPrecision,
                    "position 0 turns nothing; (1, 0) and (0, 1) "
                    "turn by 2 radians",
                    command}},
          {.name = "a_position_for_every_token",
           .inputs = {{f32, {2, 1, 1, 2}, {1, 0, 1, 0}}, {i64, {2}, {0, 2}}},
           .expected = {{f32,
                         {2, 1, 1, 2},
                         {1, 0, -0.4161468365471424, 0.9092974268256817}}},
           .from = {HighPrecision, "B S = 2 positions", command}},
          // f32(2^24 + 1) is 2^24.
          {.name = "positions_are_rounded_to_f32",
           .inputs = {{f32, {1, 2}, {1, 0}}, {i64, {1}, {16777217}}},
           .expected =
               {{f32, {1, 2}, {0.6263229832915329, -0.7795636732177778}}},
           .from = {HighPrecision, "cos and sin of 2^24 in 50 digits",
                    command}},
      }};
}
