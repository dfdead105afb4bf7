// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// A residual and its norm share a kernel: the sum is rounded to bf16 where the
// separate steps would round it, and the norm reads the rounded value.
// CHECK-LABEL: func @add_copy_rmsnorm
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[SUM]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[ROUNDED]]
// CHECK: arith.mulf %[[WIDE]], %[[WIDE]]
// CHECK: tile.store %[[ROUNDED]]
// CHECK: tile.store
// CHECK-NOT: func.func
insn.fused "residual" inputs ["x", "r", "w"] outputs ["sum", "y"] {
^bb0(%x: tensor<?x64xbf16, #insn.dims<"M", 64>>, %r: tensor<?x64xbf16, #insn.dims<"M", 64>>, %w: tensor<64xbf16>):
  %h = insn.add %x, %r : (tensor<?x64xbf16, #insn.dims<"M", 64>>, tensor<?x64xbf16, #insn.dims<"M", 64>>) -> tensor<?x64xbf16, #insn.dims<"M", 64>>
  %s = insn.copy %h : (tensor<?x64xbf16, #insn.dims<"M", 64>>) -> tensor<?x64xbf16, #insn.dims<"M", 64>>
  %y = insn.rmsnorm %h, %w : (tensor<?x64xbf16, #insn.dims<"M", 64>>, tensor<64xbf16>) -> tensor<?x64xbf16, #insn.dims<"M", 64>>
  insn.yield %s, %y : tensor<?x64xbf16, #insn.dims<"M", 64>>, tensor<?x64xbf16, #insn.dims<"M", 64>>
}

// -----

// Rows along another axis start a new kernel.
// CHECK-LABEL: func @rmsnorm
// CHECK-LABEL: func @softmax
insn.fused "axes" inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<4x64xbf16>, %w: tensor<64xbf16>):
  %h = insn.rmsnorm %x, %w : (tensor<4x64xbf16>, tensor<64xbf16>) -> tensor<4x64xbf16>
  %y = insn.softmax %h {dim = 0 : i64} : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  insn.yield %y : tensor<4x64xbf16>
}

// -----

// expected-error @below {{'insn.fused' op expected insn.yield at the end of its region}}
insn.fused "r" inputs [] outputs [] {
  insn.nop : () -> ()
}
