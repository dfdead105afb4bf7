// RUN: tandem-opt %s --insn-lower-to-tile="set=splits=4" | FileCheck %s

// Each part of the window has CTAs of its own, and leaves what it has seen; the
// bad window is reported once.
// CHECK-LABEL: func @attention_tile(
// CHECK: tile.grid_wait
// CHECK: tile.grid_release
// CHECK-DAG: tile.program_id 0
// CHECK-DAG: %[[PART:.*]] = tile.program_id 1
// CHECK: tile.report_error
// CHECK: %[[FIRST:.*]] = arith.minsi
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]]
// CHECK: scf.yield
// CHECK: tile.store {{.*}} : tensor<8x64xf32
// CHECK: tile.store {{.*}} : tensor<8x1xf32
// CHECK: tile.store {{.*}} : tensor<8x1xf32

// CHECK-LABEL: func @attention_tile_merge(
// CHECK: tile.grid_wait
// CHECK-NOT: tile.report_error
// CHECK-NOT: scf.for
// CHECK: tile.load {{.*}} {vector = 4 : i32} : tensor<{{[48]}}x64xf32
// CHECK: tile.reduce max
// CHECK: tile.reduce sum
// CHECK: arith.divf
// CHECK: tile.store {{.*}} : tensor<1x64xbf16
insn.fused "decode" inputs ["q", "k", "v"] outputs ["o"] {
^bb0(%q: tensor<4x64xbf16>, %k: tensor<?x2x64xbf16, #insn.dims<"S", 2, 64>>,
     %v: tensor<?x2x64xbf16, #insn.dims<"S", 2, 64>>):
  %o = insn.attention_tile %q, %k, %v
      : (tensor<4x64xbf16>, tensor<?x2x64xbf16, #insn.dims<"S", 2, 64>>,
         tensor<?x2x64xbf16, #insn.dims<"S", 2, 64>>) -> tensor<4x64xbf16>
  insn.yield %o : tensor<4x64xbf16>
}
