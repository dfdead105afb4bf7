// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// An id outside the table is reported, and its row is neither read nor written.
// CHECK-LABEL: func @embed
// CHECK: %[[ID:.*]] = tile.load {{.*}}xi32
// CHECK: arith.cmpi ult
// CHECK: %[[GOOD:.*]] = arith.andi
// CHECK: %[[BAD:.*]] = arith.xori
// CHECK: tile.report_error %{{.*}}, %[[BAD]], %{{.*}} step 0
// CHECK: tile.load {{.*}} mask(%[[GOOD]]
// CHECK: %[[KEPT:.*]] = arith.andi %{{.*}}, %[[GOOD]]
// CHECK: tile.store {{.*}} mask(%[[KEPT]]
insn.fused "rows" inputs ["ids", "table"] outputs ["y"] {
^bb0(%ids: tensor<?xi32, #insn.dims<"M">>, %table: tensor<100x64xbf16>):
  %y = insn.embed %ids, %table : (tensor<?xi32, #insn.dims<"M">>, tensor<100x64xbf16>) -> tensor<?x64xbf16, #insn.dims<"M", 64>>
  insn.yield %y : tensor<?x64xbf16, #insn.dims<"M", 64>>
}

// -----

func.func @ids_are_integers(%x: tensor<4xf32>, %t: tensor<9x8xf32>) {
  // expected-error @below {{'insn.embed' op operand 'ids': expected int32 or int64, got float32}}
  %z = insn.embed %x, %t : (tensor<4xf32>, tensor<9x8xf32>) -> tensor<4x8xf32>
  return
}
