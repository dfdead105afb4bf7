// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s
// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile=target=sm_80 --verify-diagnostics | FileCheck %s --check-prefix=PLAIN

// Equal 16-bit types use the tensor core; the bias is added in f32, rounded
// once. On sm_90a one group of warps copies, the other multiplies.
// PLAIN-LABEL: func @gemm_tile
// PLAIN: %[[SUM:.*]] = scf.for
// PLAIN:   tile.convert_layout
// PLAIN:   tile.dot {{.*}}xbf16, {{.*}}xbf16, {{.*}}xf32
// PLAIN: %[[BIASED:.*]] = arith.addf %[[SUM]],
// PLAIN: arith.truncf %[[BIASED]]
// CHECK-LABEL: func @gemm_tile
// CHECK-SAME:  %[[X:[^:]*]]: !tile.map<128x64xbf16>, %[[W:[^:]*]]: !tile.map<64x64xbf16>
// CHECK: %[[RING:.*]] = tile.ring : <8, !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>>
// CHECK: tile.partition warps(4) registers(40) {
// CHECK:   scf.for
// CHECK:     scf.for
// CHECK:       %[[TO:.*]]:2 = tile.acquire %[[RING]]
// CHECK:       tile.async_copy %[[X]][{{.*}}] -> %[[TO]]#0
// CHECK:       tile.async_copy %[[W]][{{.*}}] -> %[[TO]]#1
// CHECK: } warps(8) registers(232) {
// CHECK:   scf.for
// CHECK:     tile.receive %[[RING]]
// CHECK:     %[[FIRST:.*]] = tile.async_dot {{.*}} : (!tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>) ->
// CHECK:     %[[PENDING:.*]]:2 = scf.for {{.*}} iter_args({{.*}}, {{.*}} = %[[FIRST]])
// CHECK:       tile.receive %[[RING]]
// CHECK:       tile.async_dot
// CHECK:       tile.release %[[RING]][{{.*}}] {pending = 1 : i32}
// CHECK:     %[[SUM:.*]] = tile.await %[[PENDING]]#1
// CHECK:     tile.release %[[RING]][%[[PENDING]]#0] :
// CHECK:     %[[BIASED:.*]] = arith.addf %[[SUM]],
// CHECK:     %[[Y:.*]] = arith.truncf %[[BIASED]]
// CHECK:     tile.async_store %[[Y]] ->
insn.fused "linear" inputs ["x", "W", "bias"] outputs ["y"] {
^bb0(%x: tensor<128x64xbf16>, %W: tensor<32x64xbf16>, %bias: tensor<32xbf16>):
  %y = insn.gemm_tile %x, %W, %bias : (tensor<128x64xbf16>, tensor<32x64xbf16>, tensor<32xbf16>) -> tensor<128x32xbf16>
  insn.yield %y : tensor<128x32xbf16>
}

// -----

// f32 uses fma in partial sums of 32 products, which are added afterwards.
// CHECK-LABEL: func @gemm_tile
// CHECK: scf.for
// CHECK:   %[[PART:.*]] = scf.for
// CHECK:     tile.dot {{.*}}xf32, {{.*}}xf32, {{.*}}xf32
// CHECK:   arith.addf %{{.*}}, %[[PART]]
insn.fused "linear32" inputs ["x", "W"] outputs ["y"] {
^bb0(%x: tensor<4x64xf32>, %W: tensor<32x64xf32>):
  %y = insn.gemm_tile %x, %W : (tensor<4x64xf32>, tensor<32x64xf32>) -> tensor<4x32xf32>
  insn.yield %y : tensor<4x32xf32>
}

// -----

// kn weights are loaded as they lie and transposed in registers.
// CHECK-LABEL: func @gemm_tile
// CHECK: tile.transpose
// CHECK: tile.dot
insn.fused "kn" inputs ["x", "W"] outputs ["y"] {
^bb0(%x: tensor<4x64xbf16>, %W: tensor<64x32xbf16>):
  %y = insn.gemm_tile %x, %W {weight_layout = "kn"} : (tensor<4x64xbf16>, tensor<64x32xbf16>) -> tensor<4x32xbf16>
  insn.yield %y : tensor<4x32xbf16>
}

// -----

func.func @k_agrees(%x: tensor<4x8xf32>, %w: tensor<3x7xf32>) {
  // expected-error @below {{'insn.gemm_tile' op operand 'W': dim 1: expected K = 8 as in operand 'x', got float32[3, 7]}}
  %z = insn.gemm_tile %x, %w : (tensor<4x8xf32>, tensor<3x7xf32>) -> tensor<4x3xf32>
  return
}
