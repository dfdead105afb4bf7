// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// One read of keys and values serves the query heads that share them, 8 rows of
// a product; a warp's scores are rows of their own, and the weights, rounded to
// the values' type, go on as they lie.
// CHECK-LABEL: func @attention_tile
// CHECK-SAME:    tile.warps = 4
// CHECK: tile.report_error %{{.*}} step 0
// CHECK: %[[Q:.*]] = tile.load {{.*}} {vector = 8 : i32} : tensor<8x64xbf16
// CHECK: scf.for
// CHECK:   %[[K:.*]] = tile.load {{.*}} {vector = 8 : i32} : tensor<64x64xbf16
// CHECK:   %[[V:.*]] = tile.load {{.*}} {vector = 8 : i32} : tensor<64x64xbf16
// CHECK-NOT: tile.load
// CHECK:   tile.dot %[[Q]], %[[K]], {{.*}} -> tensor<8x64xf32
// CHECK:   tile.reshape {{.*}} -> tensor<32x16xf32
// CHECK:   tile.reduce max {{.*}} -> tensor<32x1xf32
// CHECK:   %[[MAX:.*]] = arith.maximumf
// CHECK:   arith.cmpf oeq, %[[MAX]]
// CHECK:   %[[P:.*]] = arith.truncf {{.*}} to tensor<32x16xbf16
// CHECK:   tile.convert_layout {{.*}} -> tensor<1x32xf32
// CHECK:   %[[T:.*]] = tile.transpose %[[V]]
// CHECK:   tile.dot %[[T]], %[[P]], {{.*}} {groups = 4 : i32} {{.*}} -> tensor<64x32xf32
// CHECK: scf.yield
// CHECK: tile.reduce max
// CHECK: arith.divf
// CHECK: tile.store
// CHECK-NOT: tile.store
insn.fused "decode" inputs ["q", "k", "v"] outputs ["o"] {
^bb0(%q: tensor<4x64xbf16>, %k: tensor<?x2x64xbf16, #insn.dims<"S", 2, 64>>,
     %v: tensor<?x2x64xbf16, #insn.dims<"S", 2, 64>>):
  %o = insn.attention_tile %q, %k, %v {kv_len = 7 : i64}
      : (tensor<4x64xbf16>, tensor<?x2x64xbf16, #insn.dims<"S", 2, 64>>,
         tensor<?x2x64xbf16, #insn.dims<"S", 2, 64>>) -> tensor<4x64xbf16>
  insn.yield %o : tensor<4x64xbf16>
}

// -----

// Lengths on the device: one number a sequence, read before the loop.
// CHECK-LABEL: func @attention_tile
// CHECK: %[[LENGTH:.*]] = tile.load_scalar {{.*}} : i32
// CHECK: arith.extsi %[[LENGTH]]
// CHECK: scf.for
// CHECK: tile.store {{.*}} : tensor<1x64xf32
// CHECK: tile.store {{.*}} : tensor<1x1xf32
// CHECK: tile.store {{.*}} : tensor<1x1xf32
insn.fused "partial" inputs ["q", "k", "v", "n"] outputs ["o"] {
^bb0(%q: tensor<3x1x64xf32>, %k: tensor<3x9x1x64xf32>,
     %v: tensor<3x9x1x64xf32>, %n: tensor<3xi32>):
  %o = insn.attention_tile %q, %k, %v, %n {flags = 2 : i64, kv_len = 3 : index}
      : (tensor<3x1x64xf32>, tensor<3x9x1x64xf32>, tensor<3x9x1x64xf32>,
         tensor<3xi32>) -> tensor<3x1x66xf32>
  insn.yield %o : tensor<3x1x66xf32>
}

// -----

func.func @heads_divide(%q: tensor<33x8xf32>, %k: tensor<4x2x8xf32>) {
  // expected-error @below {{'insn.attention_tile' op expected a number of query heads that is a multiple of the 2 key and value heads, got 33}}
  %o = insn.attention_tile %q, %k, %k : (tensor<33x8xf32>, tensor<4x2x8xf32>, tensor<4x2x8xf32>) -> tensor<33x8xf32>
  return
}
