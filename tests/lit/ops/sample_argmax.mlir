// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// The largest first, then the lowest column that holds it or NaN.
// CHECK-LABEL: func @sample_argmax
// CHECK: tile.reduce max %
// CHECK: arith.cmpf ugt
// CHECK: %[[COLUMN:.*]] = arith.xori
// CHECK: %[[HELD:.*]] = tile.broadcast %[[COLUMN]]
// CHECK: %[[BEST:.*]] = arith.select %{{.*}}, %[[HELD]]
// CHECK: %[[MASKED:.*]] = tile.mask %[[BEST]] {{.*}} fill(0 : i32)
// CHECK: tile.reduce maxu %[[MASKED]]
// CHECK: arith.xori
insn.fused "greedy" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x64xf32>):
  %y = insn.sample_argmax %x : (tensor<4x64xf32>) -> tensor<4xi32>
  insn.yield %y : tensor<4xi32>
}

// -----

func.func @a_row_has_a_logit(%x: tensor<4x0xf32>) {
  // expected-error @below {{'insn.sample_argmax' op V = 0 is refused}}
  %z = insn.sample_argmax %x : (tensor<4x0xf32>) -> tensor<4xi32>
  return
}
