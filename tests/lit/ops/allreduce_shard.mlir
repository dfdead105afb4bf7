// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// f32 additions from left to right, one rounding.
// CHECK-LABEL: func @allreduce_shard
// CHECK: %[[AB:.*]] = arith.addf
// CHECK: %[[ABC:.*]] = arith.addf %[[AB]],
// CHECK: arith.truncf %[[ABC]]
// CHECK-NOT: arith.truncf
insn.fused "sum" inputs ["a", "b", "c"] outputs ["y"] {
^bb0(%a: tensor<4x64xbf16>, %b: tensor<4x64xbf16>, %c: tensor<4x64xbf16>):
  %y = insn.allreduce_shard %a, %b, %c : (tensor<4x64xbf16>, tensor<4x64xbf16>, tensor<4x64xbf16>) -> tensor<4x64xbf16>
  insn.yield %y : tensor<4x64xbf16>
}

// -----

func.func @one_shard_at_least() {
  // expected-error @below {{'insn.allreduce_shard' op takes 1 or more operands}}
  %z = insn.allreduce_shard : () -> tensor<4xf32>
  return
}
