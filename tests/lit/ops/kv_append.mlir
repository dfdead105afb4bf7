// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// The position is read on the device; a slot outside of the cache is reported
// and not written.
// CHECK-LABEL: func @kv_append
// CHECK: tile.load {{.*}}xi32
// CHECK: %[[GOOD:.*]] = arith.andi
// CHECK: %[[BAD:.*]] = arith.xori {{.*}}, %[[GOOD]]
// CHECK: tile.report_error %{{.*}}, %[[BAD]], %{{.*}} step 0
// CHECK: tile.load {{.*}}xf32
// CHECK: arith.truncf {{.*}}xbf16
// CHECK: tile.store
insn.fused "append" inputs ["new", "cache", "pos"] outputs [] states ["cache"] {
^bb0(%new: tensor<?x2x64xf32, #insn.dims<"B", 2, 64>>, %cache: tensor<?x32x2x64xbf16, #insn.dims<"B", 32, 2, 64>>, %pos: tensor<?xi32, #insn.dims<"B">>):
  insn.kv_append %new, %cache, %pos {pos = 2 : index} : (tensor<?x2x64xf32, #insn.dims<"B", 2, 64>>, tensor<?x32x2x64xbf16, #insn.dims<"B", 32, 2, 64>>, tensor<?xi32, #insn.dims<"B">>) -> ()
  insn.yield
}

// -----

func.func @pos_is_needed(%new: tensor<1x2x64xf32>, %cache: tensor<9x2x64xf32>) {
  // expected-error @below {{pos}}
  insn.kv_append %new, %cache : (tensor<1x2x64xf32>, tensor<9x2x64xf32>) -> ()
  return
}
