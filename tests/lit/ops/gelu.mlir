// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// The exact form keeps the square's rounding error, so that the tail is right.
// CHECK-LABEL: func @gelu
// CHECK: tile.approx rcp
// CHECK: %[[H:.*]] = arith.mulf %[[A:.*]], %[[A]]
// CHECK: %[[MINUS:.*]] = arith.negf %[[H]]
// CHECK: math.fma %[[A]], %[[A]], %[[MINUS]]
// CHECK: tile.approx ex2
// CHECK-NOT: tile.approx
insn.fused "exact" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x64xf32>):
  %y = insn.gelu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

// The tanh form is x sigmoid(2u): one exponential, one reciprocal, no tanh.
// CHECK-LABEL: func @gelu
// CHECK-NOT: tile.approx tanh
// CHECK: tile.approx ex2
// CHECK: tile.approx rcp
insn.fused "tanh" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x64xf32>):
  %y = insn.gelu %x {approximate = "tanh"} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

func.func @approximate_has_two_choices(%x: tensor<4xf32>) {
  // expected-error @below {{'insn.gelu' op param 'approximate': expected 'none' or 'tanh', got 'fast'}}
  %z = insn.gelu %x {approximate = "fast"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
