// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// An element and its partner half a head away, the angle exact, sine and cosine
// from f64. Threads take different angles, while elements are on their way.
// CHECK-LABEL: func @rope
// CHECK: tile.load {{.*}}xbf16
// CHECK: tile.gather {{.*}}xbf16
// CHECK: tile.load {{.*}}xi32
// CHECK: arith.sitofp
// CHECK: tile.gather {{.*}}xf32
// CHECK: %[[ANGLE:.*]] = arith.mulf
// CHECK: arith.bitcast %[[ANGLE]]
// CHECK: arith.truncf {{.*}}xf64
// CHECK: tile.convert_layout
// CHECK: tile.convert_layout
// CHECK: math.fma
// CHECK: tile.store
insn.fused "turn" inputs ["x", "positions"] outputs ["y"] {
^bb0(%x: tensor<?x4x64xbf16, #insn.dims<"S", 4, 64>>, %p: tensor<?xi32, #insn.dims<"S">>):
  %y = insn.rope %x, %p : (tensor<?x4x64xbf16, #insn.dims<"S", 4, 64>>, tensor<?xi32, #insn.dims<"S">>) -> tensor<?x4x64xbf16, #insn.dims<"S", 4, 64>>
  insn.yield %y : tensor<?x4x64xbf16, #insn.dims<"S", 4, 64>>
}

// -----

func.func @pairs(%x: tensor<4x7xf32>, %p: tensor<1xi32>) {
  // expected-error @below {{expected an even number, got 7}}
  %z = insn.rope %x, %p : (tensor<4x7xf32>, tensor<1xi32>) -> tensor<4x7xf32>
  return
}
