// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// One case for each message of a verifier.

#l = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = []>
func.func @range_type(%start: i64) {
  // expected-error @below {{'tile.range' op result must be Rx1 or 1xC, got 8x16}}
  %x = tile.range %start : tensor<8x16xi32, #l>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @range_element(%start: i64) {
  // expected-error @below {{'tile.range' op numbers are i32 or i64, got 'f32'}}
  %x = tile.range %start : tensor<1x32xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @splat(%x: f32) {
  // expected-error @below {{'tile.splat' op element type of the result must be 'f32', got 'f16'}}
  %y = tile.splat %x : f32 -> tensor<1x32xf16, #row>
  return
}

// -----

func.func @not_a_tile(%x: f32) {
  // expected-error @below {{'tile.splat' op result #0 must be a tile (a rank-2 static tensor with a #tile.layout), but got 'tensor<1x32xf32>'}}
  %y = tile.splat %x : f32 -> tensor<1x32xf32>
  return
}

// -----

#row = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
#bad = #tile.layout<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
func.func @load_rows(%p: !llvm.ptr<1>, %rows: tensor<32x1xi64, #bad>, %c: i64) {
  // expected-error @below {{'tile.load' op rows must have the tile's layout with the column bases dropped, <register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], repeat = [1, 1]>, got <register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [], repeat = [1, 1]>}}
  %y = tile.load %p rows(%rows : tensor<32x1xi64, #bad>) cols(%c, %c) pad(0.0 : f32) : tensor<1x128xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
#bad = #tile.layout<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
func.func @store_mask(%p: !llvm.ptr<1>, %m: tensor<32x1xi1, #bad>, %x: tensor<1x128xf32, #row>, %c: i64) {
  // expected-error @below {{'tile.store' op mask must have the tile's layout with the column bases dropped}}
  tile.store %x, %p mask(%m : tensor<32x1xi1, #bad>) cols(%c, %c) : tensor<1x128xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
func.func @vector_power(%p: !llvm.ptr<1>, %c: i64) {
  // expected-error @below {{'tile.load' op vector must be a power of two, got 3}}
  %y = tile.load %p cols(%c, %c) pad(0.0 : f32) {vector = 3 : i32} : tensor<1x128xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
func.func @vector_stride(%p: !llvm.ptr<1>, %c: i64) {
  // expected-error @below {{'tile.load' op vector = 4 needs stride 1, but a stride is given}}
  %y = tile.load %p cols(%c, %c, %c) pad(0.0 : f32) {vector = 4 : i32} : tensor<1x128xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = []>
func.func @vector_width(%p: !llvm.ptr<1>, %c: i64) {
  // expected-error @below {{'tile.load' op vector = 8, but the layout gives a thread only 4 neighbouring columns}}
  %y = tile.load %p cols(%c, %c) pad(0.0 : f32) {vector = 8 : i32} : tensor<1x128xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @load_pad(%p: !llvm.ptr<1>, %c: i64) {
  // expected-error @below {{'tile.load' op pad must be of type 'f16', got 'f32'}}
  %y = tile.load %p cols(%c, %c) pad(0.0 : f32) : tensor<1x32xf16, #row>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @load_bits(%p: !llvm.ptr<1>, %c: i64) {
  // expected-error @below {{'tile.load' op elements of memory are whole bytes, got 'i1'}}
  %y = tile.load %p cols(%c, %c) pad(false) : tensor<1x32xi1, #row>
  return
}

// -----

#skew = #tile.layout<register = [[0, 1]], lane = [[1, 1], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
func.func @load_skewed(%p: !llvm.ptr<1>, %c: i64) {
  // expected-error @below {{'tile.load' op needs a layout whose bases move along one dim each}}
  %y = tile.load %p cols(%c, %c) pad(0.0 : f32) : tensor<32x2xf32, #skew>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @mask_fill(%x: tensor<1x32xf16, #row>, %c: i64) {
  // expected-error @below {{'tile.mask' op fill must be of type 'f16', got 'f32'}}
  %y = tile.mask %x cols(%c, %c) fill(0.0 : f32) : tensor<1x32xf16, #row>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#one = #tile.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = []>
func.func @reduce_type(%x: tensor<1x32xf16, #row>) {
  // expected-error @below {{'tile.reduce' op sum reduces f32, got 'f16'}}
  %y = tile.reduce sum %x : tensor<1x32xf16, #row> -> tensor<1x1xf16, #one>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#one = #tile.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = []>
func.func @reduce_maxu(%x: tensor<1x32xf32, #row>) {
  // expected-error @below {{'tile.reduce' op maxu reduces i32 or i64, got 'f32'}}
  %y = tile.reduce maxu %x : tensor<1x32xf32, #row> -> tensor<1x1xf32, #one>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#one = #tile.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = []>
func.func @reduce_result_element(%x: tensor<1x32xf32, #row>) {
  // expected-error @below {{'tile.reduce' op element type of the result must be 'f32', got 'f16'}}
  %y = tile.reduce sum %x : tensor<1x32xf32, #row> -> tensor<1x1xf16, #one>
  return
}

// -----

#row = #tile.layout<register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#col = #tile.layout<register = [[1, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = []>
#bad = #tile.layout<register = [], lane = [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = []>
func.func @reduce_layout(%x: tensor<2x32xf32, #row>) {
  // expected-error @below {{'tile.reduce' op result must have the operand's layout with the column bases dropped}}
  %y = tile.reduce sum %x : tensor<2x32xf32, #row> -> tensor<2x1xf32, #bad>
  return
}

// -----

#row = #tile.layout<register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#bad = #tile.layout<register = [], lane = [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = []>
func.func @broadcast_layout(%x: tensor<2x1xf32, #bad>) {
  // expected-error @below {{'tile.broadcast' op operand must have the result's layout with the broadcast bases dropped}}
  %y = tile.broadcast %x : tensor<2x1xf32, #bad> -> tensor<2x32xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#four = #tile.layout<register = [[1, 0], [2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @broadcast_shape(%x: tensor<2x32xf32, #row>) {
  // expected-error @below {{'tile.broadcast' op dim 0 must be 1 or 4, got 2}}
  %y = tile.broadcast %x : tensor<2x32xf32, #row> -> tensor<4x32xf32, #four>
  return
}

// -----

#row = #tile.layout<register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#bad = #tile.layout<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [], repeat = [1, 2]>
func.func @transpose_layout(%x: tensor<2x32xf32, #row>) {
  // expected-error @below {{'tile.transpose' op result must have the operand's layout with rows and columns swapped}}
  %y = tile.transpose %x : tensor<2x32xf32, #row> -> tensor<32x2xf32, #bad>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @convert_type(%x: tensor<1x32xf32, #row>) {
  // expected-error @below {{'tile.convert_layout' op only the layout may change}}
  %y = tile.convert_layout %x : tensor<1x32xf32, #row> -> tensor<1x32xi32, #row>
  return
}

// -----

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #tile.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #tile.layout<register = [[0, 1], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
func.func @dot_types(%a: tensor<16x16xf16, #a>, %b: tensor<8x16xbf16, #b>, %acc: tensor<16x8xf32, #acc>) {
  // expected-error @below {{'tile.dot' op operands must both be f16, bf16 or f32, got 'f16' and 'bf16'}}
  %y = tile.dot %a, %b, %acc : tensor<16x16xf16, #a>, tensor<8x16xbf16, #b> -> tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #tile.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
func.func @dot_shapes(%a: tensor<16x16xf16, #a>, %acc: tensor<16x8xf32, #acc>) {
  // expected-error @below {{'tile.dot' op shapes must be MxK, NxK and MxN, got 16x16, 16x16 and 16x8}}
  %y = tile.dot %a, %a, %acc : tensor<16x16xf16, #a>, tensor<16x16xf16, #a> -> tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #tile.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #tile.layout<register = [[0, 8], [0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
func.func @dot_operand(%a: tensor<16x16xf16, #a>, %b: tensor<8x16xf16, #b>, %acc: tensor<16x8xf32, #acc>) {
  // expected-error @below {{'tile.dot' op b must have the mma.m16n8k16 layout of operand B}}
  %y = tile.dot %a, %b, %acc : tensor<16x16xf16, #a>, tensor<8x16xf16, #b> -> tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tile.layout<register = [[8, 0], [0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #tile.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #tile.layout<register = [[0, 1], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
func.func @dot_accumulator(%a: tensor<16x16xf16, #a>, %b: tensor<8x16xf16, #b>, %acc: tensor<16x8xf32, #acc>) {
  // expected-error @below {{'tile.dot' op acc must have an mma.m16n8k16 accumulator layout}}
  %y = tile.dot %a, %b, %acc : tensor<16x16xf16, #a>, tensor<8x16xf16, #b> -> tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tile.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #tile.layout<register = [[0, 1]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = []>
func.func @dot_fma_operand(%a: tensor<8x2xf32, #a>, %acc: tensor<8x8xf32, #acc>) {
  // expected-error @below {{'tile.dot' op b must have the accumulator's columns with k in registers}}
  %y = tile.dot %a, %a, %acc : tensor<8x2xf32, #a>, tensor<8x2xf32, #a> -> tensor<8x8xf32, #acc>
  return
}

// -----

#col = #tile.layout<register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = []>
#other = #tile.layout<register = [], lane = [[16, 0], [2, 0], [4, 0], [8, 0], [1, 0]], warp = []>
func.func @report_layout(%p: !llvm.ptr<1>, %bad: tensor<32x1xi1, #col>, %i: tensor<32x1xi64, #other>) {
  // expected-error @below {{'tile.report_error' op rowIndex must have the layout of bad}}
  tile.report_error %p, %bad, %i step 0 : tensor<32x1xi1, #col>, tensor<32x1xi64, #other>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
func.func @warps_of_the_kernel(%x: f32) attributes {tile.warps = 4 : i32} {
  // expected-error @below {{'tile.splat' op result has a layout of 1 warps, but the kernel has tile.warps = 4}}
  %y = tile.splat %x : f32 -> tensor<1x32xf32, #row>
  return
}

// -----

#row = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
#rev = #tile.layout<register = [], lane = [[0, 16], [0, 2], [0, 4], [0, 8], [0, 1]], warp = []>
func.func @mixed_layouts(%x: tensor<1x32xf16, #row>) attributes {tile.warps = 1 : i32} {
  // expected-error @below {{'arith.extf' op mixes two layouts; convert one with tile.convert_layout}}
  %y = arith.extf %x : tensor<1x32xf16, #row> to tensor<1x32xf32, #rev>
  return
}

// -----

// expected-error @below {{'func.func' op tile.warps must be a power of two from 1 to 32, got 3 : i32}}
func.func private @warps() attributes {tile.warps = 3 : i32}

// -----

// expected-error @below {{'func.func' op no attribute is named 'tile.wraps'}}
func.func private @misspelt() attributes {tile.wraps = 4 : i32}

// -----

#row = #tile.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = []>
#sum = #tile.layout<register = [], lane = [[0, 0], [0, 1], [0, 2], [0, 4], [0, 8]], warp = []>
func.func @neighbours_lie_in_one_thread(%f: f32) attributes {tile.warps = 1 : i32} {
  %v = tile.splat %f : f32 -> tensor<1x64xf32, #row>
  // expected-error @below {{'tile.neighbour_dot' op adds neighbours of one thread, the layout <register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [], repeat = [1, 1]> has none that make 16 columns of 64}}
  %s = tile.neighbour_dot %v, %v : tensor<1x64xf32, #row> -> tensor<1x16xf32, #sum>
  return
}
