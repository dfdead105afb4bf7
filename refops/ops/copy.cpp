//===- copy.cpp - Reference for insn.copy
//-----------------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

/// Integers beyond 2^53 and NaN payloads do not survive in double, so typed
/// memory is converted element by element.
static void copyTyped(OpCall<double> &call, const View &from) {
  const TensorDesc &to = call.out[0].desc();
  const int64_t size = static_cast<int64_t>(dtypeSize(to.dtype));
  const int64_t fromSize = static_cast<int64_t>(dtypeSize(from.desc.dtype));
  const bool isDense = from.desc.isContiguous();
  forBlocks(call, to.numElements(), 0, 1,
            [&](int64_t first, int64_t count, const auto &) {
              std::vector<const std::byte *> source;
              forRuns(from.desc, isDense, first, count,
                      [&](int64_t offset, int64_t stride, int64_t n) {
                        for (int64_t i = 0; i < n; ++i)
                          source.push_back(from.data +
                                           (offset + i * stride) * fromSize);
                      });
              size_t next = 0;
              forRuns(to, to.isContiguous(), first, count,
                      [&](int64_t offset, int64_t stride, int64_t n) {
                        for (int64_t i = 0; i < n; ++i)
                          convertElement(from.desc.dtype, source[next++],
                                         to.dtype,
                                         call.out[0].bytes() +
                                             (offset + i * stride) * size);
                      });
            });
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const Source &x = call.in[0];
  Sink &y = call.out[0];
  if constexpr (std::is_same_v<T, double>)
    if (const std::optional<View> from = x.view(); from && y.bytes()) {
      copyTyped(call, *from);
      return {};
    }
  const DType type = y.desc().dtype;
  const bool isWideInteger = x.desc().dtype == DType::I64;
  forBlocks(call, y.desc().numElements(), 1, 1,
            [&](int64_t first, int64_t count, auto &rows) {
              T *row = rows[0].data();
              x.read(first, count, row);
              std::vector<int64_t> exact;
              for (int64_t i = 0; i < count; ++i) {
                if (!isWideInteger || errorOf(row[i]) != 0) {
                  row[i] = roundedTo(type, row[i]);
                  continue;
                }
                // One rounding: not to double first.
                std::byte element[8];
                exact.push_back(x.readInteger(first + i));
                storeInteger(type, exact.back(), element);
                row[i] = loadDouble(type, element);
              }
              y.write(first, count, row);
              if (type == DType::I64 && exact.size() == size_t(count))
                y.makeExact(first, count, exact.data());
            });
  return {};
}

RefOp tandem::refops::ref_copy() {
  using enum Provenance::Kind;
  return {
      .code = Opcode::COPY,
      .name = "copy",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells nearest-even from round-half-up and from truncation.
          {.name = "ties_go_to_even_bfloat16",
           .inputs = {{DType::F32,
                       {4},
                       {1 + 0x1p-8, 1 + 0x3p-8, 1 + 0x1p-8 + 0x1p-20, -0.0}}},
           .expected = {{DType::BF16, {4}, {1, 1 + 0x1p-6, 1 + 0x1p-7, -0.0}}},
           .from = {ByHand, "bfloat16 has 7 fraction bits: 1 + 2^-8 is halfway "
                            "between 1 (even) and 1 + 2^-7 (odd)"}},
          {.name = "float_to_int8_truncates_and_saturates",
           .inputs = {{DType::F32, {6}, {-1.9, 1.9, 127.5, 1e9, -1e9, NAN}}},
           .expected = {{DType::I8, {6}, {-1, 1, 127, 127, -128, 0}}},
           .from = {ByHand, "toward zero; int8 is [-128, 127]; NaN becomes 0"}},
          {.name = "float8_saturates_infinity",
           .inputs = {{DType::F32, {4}, {INFINITY, -INFINITY, 1e6, NAN}}},
           .expected = {{DType::F8E4M3, {4}, {448, -448, 448, NAN}}},
           .from = {ByHand, "the largest e4m3fn is 1.75 * 2^8 = 448"}},
          {.name = "int32_to_float16_rounds_once",
           .inputs = {{DType::I32, {3}, {2049, 2051, 65520}}},
           .expected = {{DType::F16, {3}, {2048, 2052, INFINITY}}},
           .from = {ByHand,
                    "spacing is 2 above 2048, so 2049 and 2051 are ties "
                    "to the even neighbours; 65520 is halfway to "
                    "65536, which overflows"}},
      }};
}
