// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{'insn.fused' op expected a name for each of 1 inputs, got 0}}
insn.fused "r" inputs [] outputs [] {
^bb0(%x: tensor<4xf32>):
  insn.yield
}

// -----

// expected-error @below {{'insn.fused' op expected a name for each of 1 yielded values, got 0}}
insn.fused "r" inputs ["x"] outputs [] {
^bb0(%x: tensor<4xf32>):
  %y = insn.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
  insn.yield %y : tensor<4xf32>
}

// -----

// expected-error @below {{'insn.fused' op state "cache" is not an input}}
insn.fused "r" inputs ["x"] outputs ["y"] states ["cache"] {
^bb0(%x: tensor<4xf32>):
  %y = insn.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
  insn.yield %y : tensor<4xf32>
}

// -----

insn.fused "r" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4xf32>):
  // expected-error @below {{'arith.addf' op is not an instruction}}
  %y = arith.addf %x, %x : tensor<4xf32>
  insn.yield %y : tensor<4xf32>
}

// -----

insn.fused "r" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4xf32>):
  // expected-error @below {{'insn.fused' op cannot be a step: recipes do not nest}}
  insn.fused "inner" inputs [] outputs [] {
    insn.yield
  }
  %y = insn.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
  insn.yield %y : tensor<4xf32>
}

// -----

insn.fused "r" inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4xf32>):
  // expected-error @below {{'insn.yield' op output 0 is an input: copy it with insn.copy}}
  insn.yield %x : tensor<4xf32>
}

// -----

insn.fused "r" inputs ["x"] outputs ["h", "y"] {
^bb0(%x: tensor<4xf32>):
  %h = insn.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = insn.gelu %h : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'insn.yield' op output 0 is read again: a final output is write-only, copy it with insn.copy}}
  insn.yield %h, %y : tensor<4xf32>, tensor<4xf32>
}
