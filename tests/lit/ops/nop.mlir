// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// A step that computes nothing makes no kernel.
// CHECK: func.func @copy
// CHECK-NOT: func.func
insn.fused "nop" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x64xf32>):
  insn.nop : () -> ()
  %y = insn.copy %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

func.func @nop_takes_nothing(%x: tensor<4xf32>) {
  // expected-error @below {{'insn.nop' op takes 0 operands, got 1}}
  insn.nop %x : (tensor<4xf32>) -> ()
  return
}
