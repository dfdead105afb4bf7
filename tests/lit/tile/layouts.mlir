// RUN: tandem-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-DAG: #[[ROW:layout.*]] = #tile.layout<register = {{\[}}[0, 1], [0, 2], [0, 4]], lane = {{\[}}[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], warp = {{\[}}[0, 256], [0, 512]], repeat = [1, 2]>
#row = #tile.layout<register = [[0, 1], [0, 2], [0, 4]],
                    lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]],
                    warp = [[0, 256], [0, 512]], repeat = [1, 2]>
// A repeat of [1, 1] is left out.
// CHECK-DAG: #[[ONE:layout.*]] = #tile.layout<register = [], lane = {{\[}}[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = {{\[}}[0, 0], [0, 0]]>
#one = #tile.layout<register = [],
                    lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]],
                    warp = [[0, 0], [0, 0]], repeat = [1, 1]>

// CHECK-LABEL: func @layouts_print_as_they_are_read
// CHECK-SAME: tensor<1x2048xf32, #[[ROW]]>
func.func @layouts_print_as_they_are_read(%x: tensor<1x2048xf32, #row>)
    attributes {tile.warps = 4 : i32} {
  // CHECK: tile.reduce sum %{{.*}} : tensor<1x2048xf32, #[[ROW]]> -> tensor<1x1xf32, #[[ONE]]>
  %sum = tile.reduce sum %x : tensor<1x2048xf32, #row> -> tensor<1x1xf32, #one>
  return
}

// -----

// expected-error @below {{layout: lane must have 5 bases, one for each bit of the lane index, got 1}}
#l = #tile.layout<register = [], lane = [[0, 1]], warp = []>

// -----

// expected-error @below {{layout: a register basis is [0, 0], but registers are never replicated}}
#l = #tile.layout<register = [[0, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>

// -----

// expected-error @below {{layout: bases are not independent: some element has two different indices in one repetition}}
#l = #tile.layout<register = [[0, 1]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>

// -----

// expected-error @below {{layout: bases cover 2^5 elements of a 1x64 linear part, so some element has no thread}}
#l = #tile.layout<register = [], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = []>

// -----

// expected-error @below {{layout: repeat must be at least 1 in both dims, got [0, 1]}}
#l = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], repeat = [0, 1]>

// -----

// expected-error @below {{layout: a basis must lie in [0, 2^24), got [0, -1]}}
#l = #tile.layout<register = [], lane = [[0, -1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>

// -----

// expected-error @below {{layout: warp has 6 bases, but a CTA has at most 32 warps}}
#l = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]]>

// -----

#l = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
// expected-error @below {{layout covers a 1x32 tile, but the tensor is 1x64}}
func.func private @shape(tensor<1x64xf32, #l>)

// -----

#l = #tile.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = []>
// expected-error @below {{a tile has rank 2, got rank 1}}
func.func private @rank(tensor<32xf32, #l>)
