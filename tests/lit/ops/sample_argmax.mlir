// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// Keys order as unsigned, the complement of the column breaks ties to the left.
// CHECK-LABEL: func @sample_argmax
// CHECK: arith.cmpf uno
// CHECK: %[[KEY:.*]] = arith.shli
// CHECK: %[[COLUMN:.*]] = arith.xori
// CHECK: %[[PACKED:.*]] = arith.ori %[[KEY]], %[[COLUMN]]
// CHECK: %[[MASKED:.*]] = tile.mask %[[PACKED]] {{.*}} fill(0 : i64)
// CHECK: tile.reduce maxu %[[MASKED]]
// CHECK: arith.trunci
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
