// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// The sum of a shard is read first; its maximum and its columns only where the
// sum is above 0, or NaN. A conversion that follows shares the kernel.
// CHECK-LABEL: func @attention_combine_gelu
// CHECK: %[[SUM:.*]] = tile.load {{.*}} : tensor<{{[0-9]+}}x1xf32
// CHECK: %[[USED:.*]] = arith.cmpf ugt, %[[SUM]]
// CHECK: %[[READ:.*]] = arith.andi %[[USED]]
// CHECK: tile.load {{.*}} mask(%[[READ]]
// CHECK: arith.maximumf
// CHECK: arith.divf
// CHECK: arith.truncf
// CHECK: tile.store
// CHECK-NOT: tile.store
insn.fused "merge" inputs ["a", "b"] outputs ["y"] {
^bb0(%a: tensor<8x66xf32>, %b: tensor<8x66xf32>):
  %o = insn.attention_combine %a, %b : (tensor<8x66xf32>, tensor<8x66xf32>) -> tensor<8x64xbf16>
  %y = insn.gelu %o : (tensor<8x64xbf16>) -> tensor<8x64xbf16>
  insn.yield %y : tensor<8x64xbf16>
}

// -----

func.func @partials_are_f32(%a: tensor<8x66xbf16>) {
  // expected-error @below {{'insn.attention_combine' op operand 'partials[0]': expected float32, got bfloat16[8, 66]}}
  %o = insn.attention_combine %a : (tensor<8x66xbf16>) -> tensor<8x64xbf16>
  return
}
