// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// f32 from the load to the one rounding at the end.
// CHECK-LABEL: func @rmsnorm
// CHECK: %[[X:.*]] = arith.extf
// CHECK: %[[SQUARES:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK: %[[MASKED:.*]] = tile.mask %[[SQUARES]] {{.*}} fill(0.000000e+00 : f32)
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[MASKED]]
// CHECK: arith.divf %[[SUM]],
// CHECK: arith.addf
// CHECK: tile.approx rsqrt
// CHECK: arith.truncf
// CHECK-NOT: arith.truncf
insn.fused "norm" inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x64xbf16, #insn.dims<"M", 64>>, %w: tensor<64xbf16>):
  %y = insn.rmsnorm %x, %w : (tensor<?x64xbf16, #insn.dims<"M", 64>>, tensor<64xbf16>) -> tensor<?x64xbf16, #insn.dims<"M", 64>>
  insn.yield %y : tensor<?x64xbf16, #insn.dims<"M", 64>>
}

// -----

// Rows that are longer than a tile: one loop sums, the next one normalises.
// CHECK-LABEL: func @rmsnorm
// CHECK: %[[ACC:.*]] = scf.for
// CHECK-NOT: tile.store
// CHECK: tile.reduce sum %[[ACC]]
// CHECK: tile.approx rsqrt
// CHECK: scf.for
// CHECK: tile.store
insn.fused "long" inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x8192xf32, #insn.dims<"M", 8192>>, %w: tensor<8192xf32>):
  %y = insn.rmsnorm %x, %w : (tensor<?x8192xf32, #insn.dims<"M", 8192>>, tensor<8192xf32>) -> tensor<?x8192xf32, #insn.dims<"M", 8192>>
  insn.yield %y : tensor<?x8192xf32, #insn.dims<"M", 8192>>
}

// -----

func.func @eps_is_not_negative(%x: tensor<4xf32>) {
  // expected-error @below {{'insn.rmsnorm' op param 'eps': expected value >= 0, got}}
  %z = insn.rmsnorm %x, %x {eps = -1.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
