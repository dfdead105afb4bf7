// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// Without b the factor is `scale`, rounded to f32.
// CHECK-LABEL: func @mul
// CHECK: %[[S:.*]] = arith.constant dense<1.000000e-01>
// CHECK: arith.mulf %{{.*}}, %[[S]]
insn.fused "scale" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x64xf32>):
  %y = insn.mul %x {scale = 1.0e-01 : f64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

// With two operands it is their product, and contiguous ones run as one row.
// CHECK-LABEL: func @mul
// CHECK-NOT: arith.constant dense
// CHECK: arith.mulf
insn.fused "product" inputs ["x", "z"] outputs ["y"] {
^bb0(%x: tensor<4x64xf32>, %z: tensor<4x64xf32>):
  %y = insn.mul %x, %z {scale = 3.0 : f64} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

func.func @scale_is_a_number(%x: tensor<4xf32>) {
  // expected-error @below {{'insn.mul' op param 'scale': expected a number, got 'big'}}
  %z = insn.mul %x {scale = "big"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
