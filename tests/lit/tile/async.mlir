// RUN: tandem-opt %s --split-input-file | tandem-opt --split-input-file \
// RUN:   | tandem-opt --split-input-file --tile-lower | FileCheck %s

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]], repeat = [1, 16]>
#slice = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]], repeat = [1, 8]>

// One stage after the other: two turns of 3 stages. Stages lie at multiples of
// 1024 bytes, boxes on their way out behind them, barriers last.
// CHECK:       llvm.mlir.global external @copies_and_products_dynamic()
// CHECK-SAME:    addr_space = 3 {{.*}} alignment = 1024
// CHECK-LABEL: llvm.func @copies_and_products(
// CHECK-SAME:    llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant
// CHECK-SAME:    nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK:       nvvm.griddepcontrol launch_dependents
// CHECK:       nvvm.prefetch tensormap in_param_space
// CHECK-COUNT-6: nvvm.mbarrier.init
// CHECK:       nvvm.fence.mbarrier.init
// CHECK:       nvvm.barrier0

// The copying warps: one thread of them.
// CHECK:       nvvm.setmaxregister decrease 40
// CHECK:       nvvm.elect.sync
// CHECK:       nvvm.griddepcontrol wait
// CHECK:       nvvm.mbarrier.try_wait
// CHECK:       nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT:   multicast_mask

// The multiplying warps: without an accumulator the first product starts from
// 0, one is left running when the turn before is given back.
// CHECK:       nvvm.setmaxregister increase 232
// CHECK:       nvvm.mbarrier.try_wait
// CHECK:       nvvm.wgmma.fence.aligned
// CHECK:       nvvm.wgmma.mma_async {{.*}} <m = 64, n = 128, k = 16>, D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK-COUNT-3: nvvm.wgmma.mma_async {{.*}} D[<f32>, <one>]
// CHECK:       nvvm.wgmma.commit.group.sync.aligned
// CHECK:       nvvm.mbarrier.try_wait
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}} D[<f32>, <one>]
// CHECK:       nvvm.wgmma.wait.group.sync.aligned 1
// CHECK:       nvvm.mbarrier.arrive {{.*}} : !llvm.ptr<3> -> i64
// CHECK:       nvvm.wgmma.wait.group.sync.aligned 0

// Two halves of the columns take turns in two buffers.
// CHECK:       nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK:       nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
// CHECK-COUNT-4: nvvm.stmatrix
// CHECK:       nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// CHECK:       nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
// CHECK:       nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK:       nvvm.cp.async.bulk.commit.group
// CHECK-COUNT-4: nvvm.stmatrix
// CHECK:       nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK:       nvvm.cp.async.bulk.wait_group 0 {read}
func.func @copies_and_products(%x: !tile.map<128x64xbf16>, %w: !tile.map<128x64xbf16>, %y: !tile.map<64x64xbf16>)
    attributes {tile.warps = 12 : i32} {
  tile.grid_release
  %ring = tile.ring : !tile.ring<3, !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>>
  tile.partition warps(4) registers(40) {
    tile.grid_wait
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    scf.for %turn = %c0 to %c2 step %c1 : i32 {
      %c64 = arith.constant 64 : i32
      %k = arith.muli %turn, %c64 : i32
      %a, %b = tile.acquire %ring[%turn] : !tile.ring<3, !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>> -> !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>
      tile.async_copy %x[%c0, %k] -> %a : !tile.map<128x64xbf16> -> !tile.shared<128x64xbf16>
      tile.async_copy %w[%c0, %k] -> %b : !tile.map<128x64xbf16> -> !tile.shared<128x64xbf16>
    }
  } warps(8) registers(232) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %a0, %b0 = tile.receive %ring[%c0] : !tile.ring<3, !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>> -> !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>
    %s0 = tile.async_dot %a0, %b0 : (!tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>) -> !tile.pending<tensor<128x128xf32, #acc>>
    %a1, %b1 = tile.receive %ring[%c1] : !tile.ring<3, !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>> -> !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>
    %s1 = tile.async_dot %a1, %b1, %s0 : (!tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>, !tile.pending<tensor<128x128xf32, #acc>>) -> !tile.pending<tensor<128x128xf32, #acc>>
    tile.release %ring[%c0] {pending = 1 : i32} : !tile.ring<3, !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>>
    %sum = tile.await %s1 : !tile.pending<tensor<128x128xf32, #acc>>
    tile.release %ring[%c1] : !tile.ring<3, !tile.shared<128x64xbf16>, !tile.shared<128x64xbf16>>
    %left = tile.columns %sum[0] : tensor<128x128xf32, #acc> -> tensor<128x64xf32, #slice>
    %left16 = arith.truncf %left : tensor<128x64xf32, #slice> to tensor<128x64xbf16, #slice>
    tile.async_store %left16 -> %y[%c0, %c0] : tensor<128x64xbf16, #slice> -> !tile.map<64x64xbf16>
    %right = tile.columns %sum[64] : tensor<128x128xf32, #acc> -> tensor<128x64xf32, #slice>
    %right16 = arith.truncf %right : tensor<128x64xf32, #slice> to tensor<128x64xbf16, #slice>
    tile.async_store %right16 -> %y[%c0, %c64] : tensor<128x64xbf16, #slice> -> !tile.map<64x64xbf16>
  }
  return
}

// -----

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>

// Two CTAs copy half of the rows each, to both; a reader tells both that it is
// done, at CTA scope; and neither leaves before the other.
// CHECK-LABEL: llvm.func @a_cluster_shares_what_it_copies(
// CHECK-SAME:    nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK:       nvvm.cluster.arrive.relaxed {aligned}
// CHECK:       nvvm.cluster.wait {aligned}
// CHECK:       nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} multicast_mask
// CHECK:       nvvm.mapa
// CHECK:       nvvm.mbarrier.arrive %{{.*}} : !llvm.ptr<7>
// CHECK-NOT:   scope
// CHECK:       nvvm.cluster.arrive.relaxed
// CHECK:       nvvm.cluster.wait
func.func @a_cluster_shares_what_it_copies(%x: !tile.map<32x64xf16>)
    attributes {tile.warps = 8 : i32, tile.cluster = 2 : i32} {
  %ring = tile.ring : !tile.ring<2, !tile.shared<64x64xf16>>
  tile.partition warps(4) registers(40) {
    %c0 = arith.constant 0 : i32
    %a = tile.acquire %ring[%c0] : !tile.ring<2, !tile.shared<64x64xf16>> -> !tile.shared<64x64xf16>
    tile.async_copy %x[%c0, %c0] -> %a multicast : !tile.map<32x64xf16> -> !tile.shared<64x64xf16>
  } warps(4) registers(232) {
    %c0 = arith.constant 0 : i32
    %a = tile.receive %ring[%c0] : !tile.ring<2, !tile.shared<64x64xf16>> -> !tile.shared<64x64xf16>
    %s = tile.async_dot %a, %a : (!tile.shared<64x64xf16>, !tile.shared<64x64xf16>) -> !tile.pending<tensor<64x64xf32, #acc>>
    %sum = tile.await %s : !tile.pending<tensor<64x64xf32, #acc>>
    tile.release %ring[%c0] : !tile.ring<2, !tile.shared<64x64xf16>>
  }
  return
}
