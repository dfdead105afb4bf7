// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// One f32 addition and one rounding; a row operand is loaded once for all rows.
// CHECK-LABEL: func @add
// CHECK: %[[X:.*]] = arith.extf
// CHECK: %[[B:.*]] = tile.load {{.*}} : tensor<1x
// CHECK: tile.broadcast
// CHECK: %[[SUM:.*]] = arith.addf %[[X]],
// CHECK: arith.truncf %[[SUM]]
// CHECK-NOT: arith.truncf
insn.fused "bias" inputs ["x", "b"] outputs ["y"] {
^bb0(%x: tensor<?x64xbf16, #insn.dims<"M", 64>>, %b: tensor<64xbf16>):
  %y = insn.add %x, %b : (tensor<?x64xbf16, #insn.dims<"M", 64>>, tensor<64xbf16>) -> tensor<?x64xbf16, #insn.dims<"M", 64>>
  insn.yield %y : tensor<?x64xbf16, #insn.dims<"M", 64>>
}

// -----

func.func @shapes_broadcast(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{'insn.add' op operand 'b': float32[3] does not broadcast with}}
  %z = insn.add %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}
