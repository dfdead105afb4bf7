// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// Groups of 32 k: 8 neighbours of a thread read one scale and one zero-point.
// CHECK-LABEL: func @dequant
// CHECK: tile.load {{.*}}x{{.*}}xi8
// CHECK: tile.unpack {{.*}} {less = 8 : i32}
// CHECK: tile.range {{.*}} {granule = 8 : i32}
// CHECK: tile.gather
// CHECK: arith.subf
// CHECK: tile.range {{.*}} {granule = 8 : i32}
// CHECK: tile.gather
// CHECK: arith.mulf
// CHECK: tile.store
insn.fused "weights" inputs ["q", "scales", "zeros"] outputs ["y"] {
^bb0(%q: tensor<16x50xui8>, %s: tensor<16x4xbf16>, %z: tensor<16x4xbf16>):
  %y = insn.dequant %q, %s, %z {K = 99 : i64, group = 32 : i64} : (tensor<16x50xui8>, tensor<16x4xbf16>, tensor<16x4xbf16>) -> tensor<16x99xbf16>
  insn.yield %y : tensor<16x99xbf16>
}

// -----

func.func @bytes_hold_two_columns(%q: tensor<3x5xui8>, %s: tensor<3x1xf32>) {
  // expected-error @below {{expected ceil(K/2)}}
  %z = insn.dequant %q, %s {K = 8 : i64} : (tensor<3x5xui8>, tensor<3x1xf32>) -> tensor<3x8xf32>
  return
}
