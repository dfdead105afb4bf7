// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// Products bind tighter than sums, equal ones go from left to right, and
// nothing is contracted; the result is rounded once.
// CHECK-LABEL: func @map
// CHECK: %[[A:.*]] = arith.extf
// CHECK: %[[B:.*]] = arith.extf
// CHECK: %[[C:.*]] = arith.extf
// CHECK: %[[BC:.*]] = arith.mulf %[[B]], %[[C]]
// CHECK: %[[LEFT:.*]] = arith.subf %[[A]], %[[BC]]
// CHECK: %[[Y:.*]] = arith.subf %[[LEFT]], %[[C]]
// CHECK: arith.truncf %[[Y]]
// CHECK-NOT: math.fma
// CHECK-NOT: arith.truncf
insn.fused "precedence" inputs ["a", "b", "c"] outputs ["y"] {
^bb0(%a: tensor<4x64xbf16>, %b: tensor<4x64xbf16>, %c: tensor<4x64xbf16>):
  %y = insn.map %a, %b, %c {expr = "a - b*c - c"} : (tensor<4x64xbf16>, tensor<4x64xbf16>, tensor<4x64xbf16>) -> tensor<4x64xbf16>
  insn.yield %y : tensor<4x64xbf16>
}

// -----

// A minus sign binds tighter than a product, parentheses tighter than all.
// CHECK-LABEL: func @map
// CHECK: %[[MINUS:.*]] = arith.negf %[[A:.*]] : tensor
// CHECK: %[[SUM:.*]] = arith.addf %[[A]], %[[B:.*]] : tensor
// CHECK: arith.divf %[[MINUS]], %[[SUM]]
insn.fused "signs" inputs ["a", "b"] outputs ["y"] {
^bb0(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>):
  %y = insn.map %a, %b {expr = "-a / (a + b)"} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

// `where` computes both sides; relations are ordered, NaN wins in min and max.
// CHECK-LABEL: func @map
// CHECK: %[[IS:.*]] = arith.cmpf olt, %[[A:.*]], %{{.*}}
// CHECK: %[[LOW:.*]] = arith.minimumf
// CHECK: %[[HIGH:.*]] = arith.maximumf
// CHECK: arith.select %[[IS]], %[[LOW]], %[[HIGH]]
insn.fused "choice" inputs ["a", "b"] outputs ["y"] {
^bb0(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>):
  %y = insn.map %a, %b {expr = "where(a < 0.5, min(a, b), max(a, b))"} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

// != alone holds for NaN.
// CHECK-LABEL: func @map
// CHECK: arith.cmpf une
insn.fused "unequal" inputs ["a"] outputs ["y"] {
^bb0(%a: tensor<4x64xf32>):
  %y = insn.map %a {expr = "where(a != a, 0, a)"} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

// Each function once, and what it expands to.
// CHECK-LABEL: func @map
// CHECK: tile.sqrt
// CHECK: math.floor
// CHECK: tile.approx rsqrt
// CHECK: tile.approx ex2
// CHECK-NOT: tile.approx tanh
insn.fused "functions" inputs ["a"] outputs ["y"] {
^bb0(%a: tensor<4x64xf32>):
  %y = insn.map %a {expr = "sqrt(abs(a)) + floor(a) + rsqrt(a) + exp(a) + tanh(a)"} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  insn.yield %y : tensor<4x64xf32>
}

// -----

// What a row operand alone decides is computed once for all rows, and MAP
// shares a kernel with its neighbours.
// CHECK-LABEL: func @rmsnorm_map
// CHECK: arith.mulf %{{.*}}, %{{.*}} : tensor<1x64xf32
// CHECK: tile.broadcast
insn.fused "fused" inputs ["x", "w", "s"] outputs ["y"] {
^bb0(%x: tensor<?x64xf32, #insn.dims<"M", 64>>, %w: tensor<64xf32>, %s: tensor<64xf32>):
  %n = insn.rmsnorm %x, %w : (tensor<?x64xf32, #insn.dims<"M", 64>>, tensor<64xf32>) -> tensor<?x64xf32, #insn.dims<"M", 64>>
  %y = insn.map %n, %s {expr = "a + 2 * b"} : (tensor<?x64xf32, #insn.dims<"M", 64>>, tensor<64xf32>) -> tensor<?x64xf32, #insn.dims<"M", 64>>
  insn.yield %y : tensor<?x64xf32, #insn.dims<"M", 64>>
}

// -----

func.func @expressions_are_checked(%x: tensor<4xf32>) {
  // expected-error @below {{expr: at 2: expected}}
  %z = insn.map %x {expr = "a+"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
