// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// Weights are [K, N]: neighbours along k lie a row apart.
// CHECK-LABEL: func @lm_head
// CHECK: scf.for
// CHECK:   tile.neighbour_dot
// CHECK: tile.reduce sum
// CHECK: tile.store
insn.fused "logits" inputs ["h", "W"] outputs ["y"] {
^bb0(%h: tensor<1x64xbf16>, %W: tensor<64x32xbf16>):
  %y = insn.lm_head %h, %W : (tensor<1x64xbf16>, tensor<64x32xbf16>) -> tensor<1x32xbf16>
  insn.yield %y : tensor<1x32xbf16>
}

// -----

func.func @one_row(%h: tensor<2x64xf32>, %w: tensor<64x3xf32>) {
  // expected-error @below {{operand 'h': dim 0: expected 1, got float32[2, 64]}}
  %z = insn.lm_head %h, %w : (tensor<2x64xf32>, tensor<64x3xf32>) -> tensor<2x3xf32>
  return
}
