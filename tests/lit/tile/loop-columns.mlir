// RUN: tandem-opt %s --split-input-file --tile-loop-columns --verify-diagnostics | FileCheck %s

#tile = #tile.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], warp = []>
#row = #tile.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = []>

// Softmax: the maximum, the sum and the result are three loops; x is read in
// each, the row values between them are computed once. Each goes over chunks
// whose columns all exist, then over what is left.
// CHECK-LABEL: func @one_loop_for_each_level
// CHECK:      %[[LEAST:.*]] = arith.constant dense<0xFF800000>
// CHECK:      %[[REST:.*]] = arith.remui %[[N:.*]], %{{.*}} : i64
// CHECK:      %[[WHOLE:.*]] = arith.subi %[[N]], %[[REST]]
// CHECK:      %[[FULL:.*]] = scf.for %[[C:.*]] = %{{.*}} to %[[WHOLE]] {{.*}} iter_args(%[[ACC:.*]] = %[[LEAST]])
// CHECK:        %[[END:.*]] = arith.addi %[[C]],
// CHECK:        tile.load {{.*}} cols(%[[C]], %[[END]])
// CHECK:        %[[X:.*]] = tile.mask {{.*}} cols(%[[C]], %[[END]])
// CHECK:        arith.maximumf %[[ACC]], %[[X]]
// CHECK:      %[[MAXES:.*]] = scf.for %[[C:.*]] = %[[WHOLE]] to %[[N]] {{.*}} iter_args(%[[ACC:.*]] = %[[FULL]])
// CHECK:        tile.load {{.*}} cols(%[[C]], %[[N]])
// CHECK:        %[[X:.*]] = tile.mask {{.*}} cols(%[[C]], %[[N]])
// CHECK:        arith.maximumf %[[ACC]], %[[X]]
// CHECK:      %[[MAX:.*]] = tile.reduce max %[[MAXES]]
// CHECK:      scf.for
// CHECK:        arith.addf
// CHECK:      %[[SUMS:.*]] = scf.for
// CHECK:        tile.load
// CHECK:        tile.broadcast %[[MAX]]
// CHECK:        tile.approx ex2
// CHECK:        arith.addf
// CHECK:      %[[SUM:.*]] = tile.reduce sum %[[SUMS]]
// CHECK:      scf.for
// CHECK-NOT:  iter_args
// CHECK:        tile.load
// CHECK:        tile.approx ex2
// CHECK:        tile.broadcast %[[SUM]]
// CHECK:        tile.store
// CHECK:      return
func.func @one_loop_for_each_level(%xp: !llvm.ptr<1>, %yp: !llvm.ptr<1>, %n: i64) attributes {tile.warps = 1 : i32, tile.loop_columns = 256 : i64} {
  %c0 = arith.constant 0 : i64
  %x = tile.load %xp cols(%c0, %n) pad(0.0 : f32) : tensor<1x256xf32, #tile>
  %xm = tile.mask %x cols(%c0, %n) fill(0xFF800000 : f32) : tensor<1x256xf32, #tile>
  %max = tile.reduce max %xm : tensor<1x256xf32, #tile> -> tensor<1x1xf32, #row>
  %m = tile.broadcast %max : tensor<1x1xf32, #row> -> tensor<1x256xf32, #tile>
  %d = arith.subf %x, %m : tensor<1x256xf32, #tile>
  %p = tile.approx ex2 %d : tensor<1x256xf32, #tile>
  %pm = tile.mask %p cols(%c0, %n) fill(0.0 : f32) : tensor<1x256xf32, #tile>
  %sum = tile.reduce sum %pm : tensor<1x256xf32, #tile> -> tensor<1x1xf32, #row>
  %s = tile.broadcast %sum : tensor<1x1xf32, #row> -> tensor<1x256xf32, #tile>
  %y = arith.divf %p, %s : tensor<1x256xf32, #tile>
  tile.store %y, %yp cols(%c0, %n) : tensor<1x256xf32, #tile>
  return
}

// -----

#tile = #tile.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], warp = []>
#row = #tile.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = []>

// A store that needs no reduction waits for the last loop all the same: its
// output may lie on the input that the loops read.
// CHECK-LABEL: func @stores_come_last
// CHECK:      scf.for
// CHECK-NOT:    tile.store
// CHECK:      tile.reduce
// CHECK:      scf.for
// CHECK:        tile.store
// CHECK:        tile.store
func.func @stores_come_last(%xp: !llvm.ptr<1>, %hp: !llvm.ptr<1>, %yp: !llvm.ptr<1>, %n: i64) attributes {tile.warps = 1 : i32, tile.loop_columns = 256 : i64} {
  %c0 = arith.constant 0 : i64
  %x = tile.load %xp cols(%c0, %n) pad(0.0 : f32) : tensor<1x256xf32, #tile>
  %h = arith.addf %x, %x : tensor<1x256xf32, #tile>
  %hm = tile.mask %h cols(%c0, %n) fill(0.0 : f32) : tensor<1x256xf32, #tile>
  %sum = tile.reduce sum %hm : tensor<1x256xf32, #tile> -> tensor<1x1xf32, #row>
  %s = tile.broadcast %sum : tensor<1x1xf32, #row> -> tensor<1x256xf32, #tile>
  %y = arith.mulf %h, %s : tensor<1x256xf32, #tile>
  tile.store %h, %hp cols(%c0, %n) : tensor<1x256xf32, #tile>
  tile.store %y, %yp cols(%c0, %n) : tensor<1x256xf32, #tile>
  return
}

// -----

#tile = #tile.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], warp = []>

// CHECK-LABEL: func @short_rows_stay
// CHECK-NOT:   scf.for
func.func @short_rows_stay(%xp: !llvm.ptr<1>, %yp: !llvm.ptr<1>, %n: i64) attributes {tile.warps = 1 : i32} {
  %c0 = arith.constant 0 : i64
  %x = tile.load %xp cols(%c0, %n) pad(0.0 : f32) : tensor<1x256xf32, #tile>
  tile.store %x, %yp cols(%c0, %n) : tensor<1x256xf32, #tile>
  return
}

// -----

#tile = #tile.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], warp = []>

func.func @windows_agree(%xp: !llvm.ptr<1>, %yp: !llvm.ptr<1>, %n: i64, %m: i64) attributes {tile.warps = 1 : i32, tile.loop_columns = 256 : i64} {
  %c0 = arith.constant 0 : i64
  %x = tile.load %xp cols(%c0, %n) pad(0.0 : f32) : tensor<1x256xf32, #tile>
  // expected-error @below {{tile-loop-columns: expected the column window of the ops before it}}
  tile.store %x, %yp cols(%c0, %m) : tensor<1x256xf32, #tile>
  return
}

// -----

// expected-error @below {{tile-loop-columns: no op has a column window}}
func.func @something_has_columns() attributes {tile.warps = 1 : i32, tile.loop_columns = 256 : i64} {
  return
}

// -----

func.func @code_is_straight(%n: i64) attributes {tile.warps = 1 : i32, tile.loop_columns = 256 : i64} {
  %c0 = arith.constant 0 : i64
  // expected-error @below {{tile-loop-columns: expected straight-line code}}
  scf.for %i = %c0 to %n step %n : i64 {
  }
  return
}
