// RUN: tandem-opt %s --tile-lower --split-input-file --verify-diagnostics | FileCheck %s

#row = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>

// A tile is the registers of one thread; a whole vector travels as one access.
// CHECK-LABEL: llvm.func @vectors_are_one_access
// CHECK-SAME:    nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>
// CHECK:         llvm.cond_br
// CHECK-COUNT-1: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT:     llvm.load
// CHECK:         llvm.cond_br
// CHECK:         llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
func.func @vectors_are_one_access(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %v = tile.load %x cols(%c0, %n) pad(0.0 : f32) {vector = 4 : i32} : tensor<1x128xf32, #row>
  tile.store %v, %y cols(%c0, %n) {vector = 4 : i32} : tensor<1x128xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[0, 64], [0, 128]]>
#one = #tile.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>

// Registers, then five butterflies, then one barrier between writing and
// reading; the second reduction has bytes of its own and needs no more.
// CHECK-LABEL: llvm.mlir.global internal @two_reductions_share_no_bytes_shared
// CHECK-SAME:    addr_space = 3 {{.*}} !llvm.array<32 x i8>
// CHECK-LABEL: llvm.func @two_reductions_share_no_bytes
// CHECK:         llvm.intr.maximum
// CHECK:         nvvm.shfl.sync  bfly
// CHECK-COUNT-4: nvvm.shfl.sync  bfly
// CHECK-NOT:     nvvm.barrier0
// CHECK:         llvm.store {{.*}} !llvm.ptr<3>
// CHECK:         nvvm.barrier0
// CHECK:         llvm.load {{.*}} vector<4xf32>
// CHECK-NOT:     nvvm.barrier0
// CHECK:         llvm.store {{.*}} !llvm.ptr<3>
// CHECK:         nvvm.barrier0
// CHECK-NOT:     nvvm.barrier0
// CHECK:         llvm.return
func.func @two_reductions_share_no_bytes(%y: !llvm.ptr<1>, %f: f32)
    attributes {tile.warps = 4 : i32} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %v = tile.splat %f : f32 -> tensor<1x256xf32, #row>
  %m = tile.reduce max %v : tensor<1x256xf32, #row> -> tensor<1x1xf32, #one>
  %s = tile.reduce sum %v : tensor<1x256xf32, #row> -> tensor<1x1xf32, #one>
  %t = arith.addf %m, %s : tensor<1x1xf32, #one>
  tile.store %t, %y cols(%c0, %c1) : tensor<1x1xf32, #one>
  return
}

// -----

#row = #tile.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[0, 64], [0, 128]]>
#one = #tile.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>

// Alone in a loop, a reduction must wait until all have read the last round.
// CHECK-LABEL: llvm.func @a_loop_needs_a_barrier_before_writing
// CHECK:         nvvm.barrier0
// CHECK:         llvm.store {{.*}} !llvm.ptr<3>
// CHECK:         nvvm.barrier0
// CHECK-NOT:     nvvm.barrier0
func.func @a_loop_needs_a_barrier_before_writing(%n: i64, %f: f32)
    attributes {tile.warps = 4 : i32} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %v = tile.splat %f : f32 -> tensor<1x256xf32, #row>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (tensor<1x256xf32, #row>) : i64 {
    %s = tile.reduce sum %a : tensor<1x256xf32, #row> -> tensor<1x1xf32, #one>
    %b = tile.broadcast %s : tensor<1x1xf32, #one> -> tensor<1x256xf32, #row>
    scf.yield %b : tensor<1x256xf32, #row>
  }
  return
}

// -----

#from = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
#to = #tile.layout<register = [[0, 2], [0, 1]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>

// The same threads: registers change their names, nothing moves.
// CHECK-LABEL: llvm.func @renaming_registers_costs_nothing
// CHECK-NOT:     addressof
// CHECK-NOT:     barrier
// CHECK:         llvm.return
func.func @renaming_registers_costs_nothing(%x: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %v = tile.load %x cols(%c0, %n) pad(0.0 : f32) : tensor<1x128xf32, #from>
  %w = tile.convert_layout %v : tensor<1x128xf32, #from> -> tensor<1x128xf32, #to>
  tile.store %w, %x cols(%c0, %n) : tensor<1x128xf32, #to>
  return
}

// -----

#one = #tile.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0]]>

// Every thread holds the element; the one whose bits are all 0 stores it.
// CHECK-LABEL: llvm.func @replicated_elements_are_stored_once
// CHECK:         %[[BITS:.*]] = llvm.and %{{.*}}, %{{.*}} : i32
// CHECK:         %[[OWNER:.*]] = llvm.icmp "eq" %[[BITS]]
// CHECK:         llvm.select %[[OWNER]]
// CHECK:         llvm.cond_br
// CHECK:         llvm.store
func.func @replicated_elements_are_stored_once(%y: !llvm.ptr<1>, %f: f32)
    attributes {tile.warps = 2 : i32} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %v = tile.splat %f : f32 -> tensor<1x1xf32, #one>
  tile.store %v, %y cols(%c0, %c1) : tensor<1x1xf32, #one>
  return
}

// -----

// expected-error @below {{'func.func' op a kernel needs tile.warps}}
func.func @no_warps(%x: !llvm.ptr<1>) {
  return
}

// -----

// expected-error @below {{'func.func' op a kernel has a body and no results}}
func.func @returns() -> i32 attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i32
  return %c0 : i32
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
// expected-error @below {{'func.func' op kernel arguments are pointers and scalars, got 'tensor<1x32xf32}}
func.func @tile_argument(%x: tensor<1x32xf32, #row>) attributes {tile.warps = 1 : i32} {
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @transcendental(%f: f32) attributes {tile.warps = 1 : i32} {
  %v = tile.splat %f : f32 -> tensor<1x32xf32, #row>
  // expected-error @below {{'math.exp' op has no lowering}}
  %w = math.exp %v : tensor<1x32xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @rounds_twice(%f: f64) attributes {tile.warps = 1 : i32} {
  %v = tile.splat %f : f64 -> tensor<1x32xf64, #row>
  // expected-error @below {{'arith.truncf' op would round twice, from f64 to f32 to 'f16'}}
  %w = arith.truncf %v : tensor<1x32xf64, #row> to tensor<1x32xf16, #row>
  return
}

// -----

#row = #tile.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = []>
func.func @not_a_splat() attributes {tile.warps = 1 : i32} {
  // expected-error @below {{'arith.constant' op a tile constant has one value for all elements}}
  %w = arith.constant dense<"0x000000000100000002000000030000000400000005000000060000000700000008000000090000000A0000000B0000000C0000000D0000000E0000000F000000100000001100000012000000130000001400000015000000160000001700000018000000190000001A0000001B0000001C0000001D0000001E0000001F000000200000002100000022000000230000002400000025000000260000002700000028000000290000002A0000002B0000002C0000002D0000002E0000002F000000300000003100000032000000330000003400000035000000360000003700000038000000390000003A0000003B0000003C0000003D0000003E0000003F000000"> : tensor<1x64xi32, #row>
  return
}

// -----

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], repeat = [1, 2]>
#a = #tile.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #tile.layout<register = [[0, 1], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], repeat = [2, 1]>

// One instruction for each 16x8 of the accumulator and 16 of k.
// CHECK-LABEL: llvm.func @dot_is_mma_sync
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
// CHECK-NOT:     llvm.nvvm.mma
func.func @dot_is_mma_sync(%x: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %av = tile.load %x cols(%c0, %n) pad(0.0 : bf16) : tensor<16x16xbf16, #a>
  %bv = tile.load %x cols(%c0, %n) pad(0.0 : bf16) : tensor<16x16xbf16, #b>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %d = tile.dot %av, %bv, %zero : tensor<16x16xbf16, #a>, tensor<16x16xbf16, #b> -> tensor<16x16xf32, #acc>
  tile.store %d, %x cols(%c0, %n) : tensor<16x16xf32, #acc>
  return
}

// -----

#row = #tile.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[8, 0]]>
#col = #tile.layout<register = [[1, 0]], lane = [[2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [[0, 4]]>

// Through a padded image in shared memory: rows are written in pairs, columns
// read one by one; the two conversions have bytes of their own, so that each
// needs one barrier.
// CHECK-LABEL: llvm.func @conversions_write_wait_and_read
// CHECK:         llvm.store {{.*}} i32, !llvm.ptr<3>
// CHECK-COUNT-1: nvvm.barrier0
// CHECK-COUNT-2: llvm.load {{.*}} !llvm.ptr<3> -> f16
// CHECK:         llvm.store {{.*}} f16, !llvm.ptr<3>
// CHECK-COUNT-1: nvvm.barrier0
// CHECK-NOT:     nvvm.barrier0
// CHECK:         llvm.load {{.*}} !llvm.ptr<3> -> i32
func.func @conversions_write_wait_and_read(%x: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 2 : i32} {
  %c0 = arith.constant 0 : i64
  %v = tile.load %x cols(%c0, %n) pad(0.0 : f16) : tensor<16x8xf16, #row>
  %w = tile.convert_layout %v : tensor<16x8xf16, #row> -> tensor<16x8xf16, #col>
  %u = tile.convert_layout %w : tensor<16x8xf16, #col> -> tensor<16x8xf16, #row>
  tile.store %u, %x cols(%c0, %n) : tensor<16x8xf16, #row>
  return
}

// -----

#row = #tile.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = []>

// A number of memory is one load of every thread, without a branch.
// CHECK-LABEL: llvm.func @a_scalar_is_one_load
// CHECK:         %[[AT:.*]] = llvm.getelementptr %{{.*}} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
// CHECK-NEXT:    llvm.load %[[AT]] : !llvm.ptr<1> -> i32
// CHECK-NEXT:    llvm.sext
func.func @a_scalar_is_one_load(%p: !llvm.ptr<1>, %y: !llvm.ptr<1>, %i: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %n = tile.load_scalar %p[%i] : i32
  %w = arith.extsi %n : i32 to i64
  %r = tile.range %w : tensor<1x64xi64, #row>
  tile.store %r, %y cols(%c0, %w) : tensor<1x64xi64, #row>
  return
}

// -----

#row = #tile.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], warp = []>
#bytes = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
#sum = #tile.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = []>

// A nibble becomes the low bits of 2^23 where it lies, the upper three after one
// shift; one addition or fma makes it a float, where the chain of neighbours
// uses it.
// CHECK-LABEL: llvm.func @nibbles_are_floats_in_two_steps
// CHECK-NOT:     llvm.sitofp
// CHECK:         "lop3.b32 $0, $1, 15, 1258291200, 0xEA;"
// CHECK-NOT:     llvm.intr.fma
// CHECK:         llvm.fadd
// CHECK:         %[[FIRST:.*]] = llvm.intr.fma(%[[A:.*]], %[[A]], %{{.*}}) :
// CHECK:         "lop3.b32 $0, $1, 240, 1258291200, 0xEA;"
// CHECK:         llvm.intr.fma(
// CHECK:         llvm.intr.fma({{.*}}, %[[FIRST]]) :
// CHECK-NOT:     llvm.sitofp
// CHECK:         llvm.return
func.func @nibbles_are_floats_in_two_steps(%x: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %v = tile.load %x cols(%c0, %n) pad(0 : i8) {vector = 4 : i32} : tensor<1x128xi8, #bytes>
  %u = tile.unpack %v {less = 8 : i32} : tensor<1x128xi8, #bytes> -> tensor<1x256xi8, #row>
  %f = arith.sitofp %u : tensor<1x256xi8, #row> to tensor<1x256xf32, #row>
  %s = tile.neighbour_dot %f, %f : tensor<1x256xf32, #row> -> tensor<1x64xf32, #sum>
  tile.store %s, %x cols(%c0, %n) : tensor<1x64xf32, #sum>
  return
}

// -----

#row = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>

// CHECK-LABEL: llvm.func @bytes_are_floats_in_two_steps
// CHECK-COUNT-1: llvm.xor {{.*}} : i32
// CHECK-NOT:     llvm.xor
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.prmt"
// CHECK-NOT:     llvm.sitofp
func.func @bytes_are_floats_in_two_steps(%x: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %v = tile.load %x cols(%c0, %n) pad(0 : i8) {vector = 4 : i32} : tensor<1x128xi8, #row>
  %f = arith.sitofp %v : tensor<1x128xi8, #row> to tensor<1x128xf32, #row>
  tile.store %f, %x cols(%c0, %n) : tensor<1x128xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [], repeat = [1, 2]>

// Where all exist, loads do not wait for each other's tests.
// CHECK-LABEL: llvm.func @whole_tiles_load_in_one_block
// CHECK:         llvm.cond_br
// CHECK:         llvm.load {{.*}} vector<4xf32>
// CHECK-NOT:     llvm.br
// CHECK:         llvm.load {{.*}} vector<4xf32>
// CHECK-NEXT:    llvm.br
// CHECK:         llvm.cond_br
// CHECK:         llvm.load
// CHECK:         llvm.cond_br
// CHECK:         llvm.load
func.func @whole_tiles_load_in_one_block(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64)
    attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %v = tile.load %x cols(%c0, %n) pad(0.0 : f32) {vector = 4 : i32} : tensor<1x256xf32, #row>
  tile.store %v, %y cols(%c0, %n) {vector = 4 : i32} : tensor<1x256xf32, #row>
  return
}
