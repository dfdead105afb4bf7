// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// Equal types move bits: nothing widens or rounds them.
// CHECK-LABEL: func @copy
// CHECK: %[[X:.*]] = tile.load
// CHECK-NOT: arith.extf
// CHECK: tile.store %[[X]]
insn.fused "same" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x64xbf16>):
  %y = insn.copy %x : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  insn.yield %y : tensor<4x64xbf16>
}

// -----

// One rounding from f32 to f16; bf16 widens exactly first.
// CHECK-LABEL: func @copy
// CHECK: %[[W:.*]] = arith.extf %{{.*}} : tensor<{{.*}}xbf16
// CHECK: arith.truncf %[[W]] : {{.*}} to tensor<{{.*}}xf16
// CHECK-NOT: arith.truncf
insn.fused "cast" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x64xbf16>):
  %y = insn.copy %x : (tensor<4x64xbf16>) -> tensor<4x64xf16>
  insn.yield %y : tensor<4x64xf16>
}

// -----

func.func @copy_keeps_the_shape(%x: tensor<4xf32>) {
  // expected-error @below {{'insn.copy' op}}
  %y = insn.copy %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}
