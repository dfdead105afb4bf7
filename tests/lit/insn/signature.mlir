// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// One case for each rule that the generic verifier adds to core's own, and for
// a few of core's, to show that its messages arrive whole.

func.func @weight_has_the_size_of_the_row(%x: tensor<4x64xbf16>, %w: tensor<32xbf16>) {
  // expected-error @below {{'insn.rmsnorm' op operand 'w': dim 0: expected K = 64 as in operand 'x', got bfloat16[32]}}
  %y = insn.rmsnorm %x, %w : (tensor<4x64xbf16>, tensor<32xbf16>) -> tensor<4x64xbf16>
  return
}

// -----

func.func @misspelt_param_is_refused(%x: tensor<4x64xbf16>, %w: tensor<64xbf16>) {
  // expected-error @below {{'insn.rmsnorm' op no param is named 'epsilon'}}
  %y = insn.rmsnorm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<4x64xbf16>, tensor<64xbf16>) -> tensor<4x64xbf16>
  return
}

// -----

func.func @param_has_a_plain_type(%x: tensor<4x64xbf16>, %w: tensor<64xbf16>) {
  // expected-error @below {{'insn.rmsnorm' op attribute 'eps': expected a bool, integer, float or string}}
  %y = insn.rmsnorm %x, %w {eps = [1.0]} : (tensor<4x64xbf16>, tensor<64xbf16>) -> tensor<4x64xbf16>
  return
}

// -----

func.func @dynamic_dim_has_a_name(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>) {
  // expected-error @below {{'insn.rmsnorm' op operand 0: dim 0 is '?' and has no name: add #insn.dims}}
  %y = insn.rmsnorm %x, %w : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
  return
}

// -----

func.func @op_has_its_results(%x: tensor<4xf32>) {
  // expected-error @below {{'insn.gelu' op expected 1 results, got 0}}
  insn.gelu %x : (tensor<4xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{#insn.dims: expected 2 dims as in the shape, got 1}}
func.func private @dims_have_the_rank(tensor<?x64xf32, #insn.dims<"M">>)

// -----

// expected-error @+1 {{#insn.dims: dim 1: expected 64 as in the shape, got 32}}
func.func private @dims_repeat_the_sizes(tensor<?x64xf32, #insn.dims<"M", 32>>)

// -----

// expected-error @+1 {{#insn.dims: dim 0 is '?' in the shape, expected a symbol, got 4}}
func.func private @unknown_dims_have_symbols(tensor<?x64xf32, #insn.dims<4, 64>>)
