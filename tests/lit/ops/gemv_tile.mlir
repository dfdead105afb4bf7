// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// Products accumulate elementwise in the loop, one reduction adds the columns.
// CHECK-LABEL: func @gemv_tile
// CHECK: %[[ACC:.*]] = scf.for
// CHECK:   math.fma
// CHECK: tile.reduce sum %[[ACC]]
// CHECK: tile.store
insn.fused "linear" inputs ["x", "W"] outputs ["y"] {
^bb0(%x: tensor<1x64xbf16>, %W: tensor<32x64xbf16>):
  %y = insn.gemv_tile %x, %W : (tensor<1x64xbf16>, tensor<32x64xbf16>) -> tensor<1x32xbf16>
  insn.yield %y : tensor<1x32xbf16>
}

// -----

func.func @k_is_not_0(%x: tensor<1x0xf32>, %w: tensor<3x0xf32>) {
  // expected-error @below {{'insn.gemv_tile' op K = 0 is refused}}
  %z = insn.gemv_tile %x, %w : (tensor<1x0xf32>, tensor<3x0xf32>) -> tensor<1x3xf32>
  return
}
