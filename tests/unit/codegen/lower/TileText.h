//===- TileText.h - Small tile kernels as text, for tests -------*- C++ -*-===//
#ifndef TANDEM_TESTS_UNIT_CODEGEN_LOWER_TILETEXT_H
#define TANDEM_TESTS_UNIT_CODEGEN_LOWER_TILETEXT_H

#include "dialect/tile/LinearLayout.h"

#include <string>
#include <utility>
#include <vector>

namespace tandem::test {

/// `tensor<4x8xf32, #tile.layout<...>>` of the layout's shape.
inline std::string tileOf(const std::string &element,
                          const tile::LinearLayout &layout) {
  auto [rows, cols] = layout.shape();
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(cols) + "x" +
         element + ", #tile.layout<" + layout.text() + ">>";
}

/// Replaces every `$NAME` of \p text by the value of the pair, in order.
inline std::string
fill(std::string text,
     const std::vector<std::pair<std::string, std::string>> &names) {
  for (const auto &[name, value] : names)
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;
         at += value.size())
      text.replace(at, name.size(), value);
  return text;
}

/// One CTA a row: y = softmax(x) over `cols`, in bf16, with `warps` warps.
inline std::string softmaxKernel(const tile::LinearLayout &layout, int vector) {
  return fill(
      R"(func.func @softmax(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %rows: i64,
    %cols: i64, %xs: i64, %ys: i64) attributes {tile.warps = $W : i32} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %row = tile.program_id 0
  %first = arith.muli %row, $R : i64
  %n = tile.range %first : $I
  %xsplat = tile.splat %xs : i64 -> $I
  %ysplat = tile.splat %ys : i64 -> $I
  %rsplat = tile.splat %rows : i64 -> $I
  %live = arith.cmpi slt, %n, %rsplat : $I
  %xo = arith.muli %n, %xsplat : $I
  %yo = arith.muli %n, %ysplat : $I
  %v = tile.load %x rows(%xo : $I) mask(%live : $B) cols(%c0, %cols) pad(0.0 : bf16) {vector = $V : i32} : $H
  %f = arith.extf %v : $H to $F
  %m = tile.mask %f cols(%c0, %cols) fill(0xFF800000 : f32) : $F
  %max = tile.reduce max %m : $F -> $S
  %maxb = tile.broadcast %max : $S -> $F
  %d = arith.subf %m, %maxb : $F
  %log2e = arith.constant dense<1.44269502> : $F
  %s = arith.mulf %d, %log2e : $F
  %e = tile.approx ex2 %s : $F
  %sum = tile.reduce sum %e : $F -> $S
  %sumb = tile.broadcast %sum : $S -> $F
  %p = arith.divf %e, %sumb : $F
  %o = arith.truncf %p : $F to $H
  tile.store %o, %y rows(%yo : $I) mask(%live : $B) cols(%c0, %cols) {vector = $V : i32} : $H
  return
}
)",
      {{"arith.muli %row, $R", "arith.muli %row, %r"},
       {"%c1 = arith.constant 1", "%r = arith.constant $R"},
       {"$W", std::to_string(layout.numWarps())},
       {"$R", std::to_string(layout.shape()[0])},
       {"$V", std::to_string(vector)},
       {"$I", tileOf("i64", layout.dropColumns())},
       {"$B", tileOf("i1", layout.dropColumns())},
       {"$S", tileOf("f32", layout.dropColumns())},
       {"$H", tileOf("bf16", layout)},
       {"$F", tileOf("f32", layout)}});
}

/// One CTA: y = relayout(x) for an MxN tile of `element`.
inline std::string convertKernel(const tile::LinearLayout &from,
                                 const tile::LinearLayout &to,
                                 const std::string &element,
                                 const std::string &zero) {
  return fill(
      R"(func.func @convert(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)
    attributes {tile.warps = $W : i32} {
  %c0 = arith.constant 0 : i64
  %cols = arith.constant $C : i64
  %rf = tile.range %c0 : $RF
  %rt = tile.range %c0 : $RT
  %sf = tile.splat %cols : i64 -> $RF
  %st = tile.splat %cols : i64 -> $RT
  %of = arith.muli %rf, %sf : $RF
  %ot = arith.muli %rt, %st : $RT
  %v = tile.load %x rows(%of : $RF) cols(%c0, %cols) pad($Z : $E) : $FROM
  %w = tile.convert_layout %v : $FROM -> $TO
  tile.store %w, %y rows(%ot : $RT) cols(%c0, %cols) : $TO
  return
}
)",
      {{"$W", std::to_string(from.numWarps())},
       {"$C", std::to_string(from.shape()[1])},
       {"$RF", tileOf("i64", from.dropColumns())},
       {"$RT", tileOf("i64", to.dropColumns())},
       {"$FROM", tileOf(element, from)},
       {"$TO", tileOf(element, to)},
       {"$Z", zero},
       {"$E", element}});
}

/// One CTA: d = c + a bT for whole tiles in row-major memory; d and c are f32.
inline std::string dotKernel(const tile::LinearLayout &acc,
                             const tile::LinearLayout &a,
                             const tile::LinearLayout &b,
                             const std::string &element) {
  return fill(
      R"(func.func @dot(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>,
    %d: !llvm.ptr<1>) attributes {tile.warps = $W : i32} {
  %c0 = arith.constant 0 : i64
  %n = arith.constant $N : i64
  %k = arith.constant $K : i64
  %ar = tile.range %c0 : $RA
  %ak = tile.splat %k : i64 -> $RA
  %ao = arith.muli %ar, %ak : $RA
  %br = tile.range %c0 : $RB
  %bk = tile.splat %k : i64 -> $RB
  %bo = arith.muli %br, %bk : $RB
  %cr = tile.range %c0 : $RC
  %cn = tile.splat %n : i64 -> $RC
  %co = arith.muli %cr, %cn : $RC
  %at = tile.load %a rows(%ao : $RA) cols(%c0, %k) pad(0.0 : $E) : $TA
  %bt = tile.load %b rows(%bo : $RB) cols(%c0, %k) pad(0.0 : $E) : $TB
  %ct = tile.load %c rows(%co : $RC) cols(%c0, %n) pad(0.0 : f32) : $TC
  %r = tile.dot %at, %bt, %ct : $TA, $TB -> $TC
  tile.store %r, %d rows(%co : $RC) cols(%c0, %n) : $TC
  return
}
)",
      {{"$W", std::to_string(acc.numWarps())},
       {"$N", std::to_string(acc.shape()[1])},
       {"$K", std::to_string(a.shape()[1])},
       {"$RA", tileOf("i64", a.dropColumns())},
       {"$RB", tileOf("i64", b.dropColumns())},
       {"$RC", tileOf("i64", acc.dropColumns())},
       {"$TA", tileOf(element, a)},
       {"$TB", tileOf(element, b)},
       {"$TC", tileOf("f32", acc)},
       {"$E", element}});
}

} // namespace tandem::test

#endif // TANDEM_TESTS_UNIT_CODEGEN_LOWER_TILETEXT_H
