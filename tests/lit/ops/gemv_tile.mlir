// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// Products of neighbours add up, their sums accumulate elementwise in the loop,
// one reduction adds the columns.
// CHECK-LABEL: func @gemv_tile
// CHECK: %[[ACC:.*]] = scf.for
// CHECK:   %[[SUM:.*]] = tile.neighbour_dot {{.*}} -> tensor<16x8xf32
// CHECK:   arith.addf {{.*}}, %[[SUM]]
// CHECK: tile.reduce sum %[[ACC]]
// CHECK: tile.store
insn.fused "linear" inputs ["x", "W"] outputs ["y"] {
^bb0(%x: tensor<1x64xbf16>, %W: tensor<32x64xbf16>):
  %y = insn.gemv_tile %x, %W : (tensor<1x64xbf16>, tensor<32x64xbf16>) -> tensor<1x32xbf16>
  insn.yield %y : tensor<1x32xbf16>
}

// -----

// Integers are multiplied as they are; one fma scales 16 of a group at a time.
// A thread reads 32 of them, 16 bytes, and shares the scales between its sums.
// CHECK-LABEL: func @gemv_tile
// CHECK: scf.for
// CHECK:   tile.load {{.*}} {vector = 16 : i32} : tensor<{{.*}}xi8
// CHECK:   %[[Q:.*]] = tile.unpack {{.*}} {less = 8 : i32}
// CHECK:   %[[W:.*]] = arith.sitofp %[[Q]]
// CHECK:   tile.range {{.*}} {granule = 2 : i32}
// CHECK:   tile.gather
// CHECK:   %[[SCALE:.*]] = arith.extf
// CHECK:   %[[SUM:.*]] = tile.neighbour_dot %[[W]]
// CHECK:   math.fma %[[SUM]], %[[SCALE]]
insn.fused "linear" inputs ["x", "W", "s"] outputs ["y"] {
^bb0(%x: tensor<1x4096xbf16>, %W: tensor<32x2048xui8>, %s: tensor<32x32xbf16>):
  %y = insn.gemv_tile %x, %W, %s {group = 128 : i64} : (tensor<1x4096xbf16>, tensor<32x2048xui8>, tensor<32x32xbf16>) -> tensor<1x32xbf16>
  insn.yield %y : tensor<1x32xbf16>
}

// -----

// One scale a row multiplies its sum.
// CHECK-LABEL: func @gemv_tile
// CHECK: scf.for
// CHECK:   tile.load {{.*}} {vector = 16 : i32} : tensor<{{.*}}xi8
// CHECK:   arith.sitofp
// CHECK-NOT: math.fma
// CHECK: %[[TOTAL:.*]] = tile.reduce sum
// CHECK: arith.mulf %[[TOTAL]]
insn.fused "linear" inputs ["x", "W", "s"] outputs ["y"] {
^bb0(%x: tensor<1x4096xbf16>, %W: tensor<32x4096xi8>, %s: tensor<32x1xbf16>):
  %y = insn.gemv_tile %x, %W, %s : (tensor<1x4096xbf16>, tensor<32x4096xi8>, tensor<32x1xbf16>) -> tensor<1x32xbf16>
  insn.yield %y : tensor<1x32xbf16>
}

// -----

func.func @k_is_not_0(%x: tensor<1x0xf32>, %w: tensor<3x0xf32>) {
  // expected-error @below {{'insn.gemv_tile' op K = 0 is refused}}
  %z = insn.gemv_tile %x, %w : (tensor<1x0xf32>, tensor<3x0xf32>) -> tensor<1x3xf32>
  return
}
