// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// The exponential takes -|g|, so that it overflows on neither side.
// CHECK-LABEL: func @silu_mul
// CHECK: %[[BITS:.*]] = arith.andi
// CHECK: %[[ABS:.*]] = arith.bitcast %[[BITS]]
// CHECK: %[[MINUS:.*]] = arith.negf %[[ABS]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[MINUS]],
// CHECK: tile.approx ex2 %[[SCALED]]
// CHECK: arith.select
// CHECK: tile.approx rcp
insn.fused "swiglu" inputs ["g", "u"] outputs ["y"] {
^bb0(%g: tensor<?x64xbf16, #insn.dims<"M", 64>>, %u: tensor<?x64xbf16, #insn.dims<"M", 64>>):
  %y = insn.silu_mul %g, %u : (tensor<?x64xbf16, #insn.dims<"M", 64>>, tensor<?x64xbf16, #insn.dims<"M", 64>>) -> tensor<?x64xbf16, #insn.dims<"M", 64>>
  insn.yield %y : tensor<?x64xbf16, #insn.dims<"M", 64>>
}

// -----

func.func @gate_and_up_have_one_shape(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{'insn.silu_mul' op operand 'up': expected leading dims [4] as in operand 'gate', got float32[3]}}
  %z = insn.silu_mul %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}
