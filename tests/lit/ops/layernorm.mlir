// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// Two passes: the mean is subtracted before anything is squared.
// CHECK-LABEL: func @layernorm
// CHECK: tile.reduce sum
// CHECK: %[[CENTRED:.*]] = arith.subf
// CHECK: arith.mulf %[[CENTRED]], %[[CENTRED]]
// CHECK: tile.reduce sum
// CHECK: tile.approx rsqrt
insn.fused "norm" inputs ["x", "w", "b"] outputs ["y"] {
^bb0(%x: tensor<4x64xbf16>, %w: tensor<64xbf16>, %b: tensor<64xbf16>):
  %y = insn.layernorm %x, %w, %b : (tensor<4x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<4x64xbf16>
  insn.yield %y : tensor<4x64xbf16>
}

// -----

func.func @hidden_repeats_the_axis(%x: tensor<4xf32>) {
  // expected-error @below {{'insn.layernorm' op param 'hidden': expected 4, the size of the axis, got 5}}
  %z = insn.layernorm %x, %x {hidden = 5 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
