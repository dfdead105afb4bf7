//===- embed.cpp - Reference for insn.embed
//---------------------------------===//
#include "refops/Registry.h"

using namespace tandem;
using namespace tandem::refops;

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const Source &ids = call.in[0];
  const Source &table = call.in[1];
  Sink &y = call.out[0];
  const int64_t rows = ids.desc().numElements();
  const int64_t vocabulary = table.shape()[0], columns = table.shape()[1];
  bool hasFault = false;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t id = ids.readInteger(r);
    if (id >= 0 && id < vocabulary)
      continue;
    if (!isCertain(ids, r))
      continue;
    hasFault = true;
    call.log->add({call.step, r, id});
  }
  if (hasFault)
    y.expectPartialWrites();
  forRows(call, rows, columns * 2,
          [&, row = std::vector<T>(static_cast<size_t>(columns))](
              int64_t r) mutable {
            const int64_t id = ids.readInteger(r);
            const bool certain = isCertain(ids, r);
            const bool inTable = id >= 0 && id < vocabulary;
            if (!inTable && certain) {
              y.markFaulty(r * columns, columns);
              return;
            }
            // Rows are moved: float8 infinities and NaN payloads stay.
            if constexpr (std::is_same_v<T, double>)
              if (const std::optional<View> from = table.view();
                  from && y.bytes() && inTable &&
                  from->desc.dtype == y.desc().dtype) {
                const View to{y.desc(), y.bytes()};
                for (int64_t c = 0; c < columns; ++c)
                  convertElement(from->desc.dtype,
                                 from->atLinear(id * columns + c),
                                 y.desc().dtype, to.atLinear(r * columns + c));
                return;
              }
            if (inTable)
              table.read(id * columns, columns, row.data());
            for (T &v : row)
              v = certain ? v : withoutVerdict(v);
            y.write(r * columns, columns, row.data());
          });
  return {};
}

RefOp tandem::refops::ref_embed() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, i32 = DType::I32, i64 = DType::I64;
  return {
      .code = Opcode::EMBED,
      .name = "embed",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .knownAnswers = {
          // Tells rows from columns: the table is not square.
          {.name = "rows_in_order_of_ids",
           .inputs = {{i32, {3}, {2, 0, 2}}, {f32, {3, 2}, {1, 2, 3, 4, 5, 6}}},
           .expected = {{f32, {3, 2}, {5, 6, 1, 2, 5, 6}}},
           .from = {ByHand, "row 2 is (5, 6), row 0 is (1, 2)"}},
          {.name = "ids_of_rank_two",
           .inputs = {{i64, {2, 1}, {1, 0}}, {f32, {2, 1}, {7, 8}}},
           .expected = {{f32, {2, 1, 1}, {8, 7}}},
           .from = {ByHand, "row-major order of ids"}},
          // Tells "untouched" from zeros and from a clamped id.
          {.name = "bad_ids_leave_their_rows_untouched",
           .inputs = {{i32, {3}, {-1, 1, 2}}, {f32, {2, 2}, {1, 2, 3, 4}}},
           .expected = {{f32,
                         {3, 2},
                         {untouched, untouched, 3, 4, untouched, untouched}}},
           .from = {ByHand, "SEMANTICS: an id outside [0, 2) is an error; the "
                            "row stays untouched, other rows are right"}},
      }};
}
