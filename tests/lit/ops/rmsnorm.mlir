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

// Rows that are longer than a tile: one loop sums, the next one normalises,
// each first over full chunks.
// CHECK-LABEL: func @rmsnorm
// CHECK: %[[FULL:.*]] = scf.for
// CHECK-NOT: tile.store
// CHECK: %[[ACC:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[FULL]])
// CHECK-NOT: tile.store
// CHECK: tile.reduce sum %[[ACC]]
// CHECK: tile.approx rsqrt
// CHECK: scf.for
// CHECK: tile.store
insn.fused "long" inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x32768xf32, #insn.dims<"M", 32768>>, %w: tensor<32768xf32>):
  %y = insn.rmsnorm %x, %w : (tensor<?x32768xf32, #insn.dims<"M", 32768>>, tensor<32768xf32>) -> tensor<?x32768xf32, #insn.dims<"M", 32768>>
  insn.yield %y : tensor<?x32768xf32, #insn.dims<"M", 32768>>
}

// -----

func.func @eps_is_not_negative(%x: tensor<4xf32>) {
  // expected-error @below {{'insn.rmsnorm' op param 'eps': expected value >= 0, got}}
  %z = insn.rmsnorm %x, %x {eps = -1.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
