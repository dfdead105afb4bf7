// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// The maximum and the sum see no column beyond the row.
// CHECK-LABEL: func @softmax
// CHECK: %[[X:.*]] = tile.mask {{.*}} fill(0xFF800000 : f32)
// CHECK: tile.reduce max %[[X]]
// CHECK: arith.subf
// CHECK: %[[P:.*]] = tile.approx ex2
// CHECK: %[[MASKED:.*]] = tile.mask %[[P]] {{.*}} fill(0.000000e+00 : f32)
// CHECK: tile.reduce sum %[[MASKED]]
// CHECK: %[[INVERSE:.*]] = arith.divf
// CHECK: arith.mulf %[[P]],
insn.fused "rows" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x64xf32>):
  %y = insn.softmax %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

// Along another dim, columns step by that dim's stride.
// CHECK-LABEL: func @softmax
// CHECK: tile.load {{.*}} cols(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) pad
insn.fused "columns" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x64xf32>):
  %y = insn.softmax %x {dim = 0 : i64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

func.func @dim_is_in_range(%x: tensor<4xf32>) {
  // expected-error @below {{'insn.softmax' op param 'dim'}}
  %z = insn.softmax %x {dim = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
