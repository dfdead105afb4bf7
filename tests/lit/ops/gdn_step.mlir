// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// The state is read once, before all else, and written once, 16 bytes at a
// time.
// CHECK-LABEL: func @gdn_step
// CHECK: tile.load {{.*}} {vector = 4 : i32} : tensor<128x32xf32
// CHECK: tile.approx rsqrt
// CHECK-NOT: tensor<128x32xf32, {{.*}}> = tile.load
// CHECK: tile.reduce sum
// CHECK: math.fma {{.*}} : tensor<128x32xf32
// CHECK: tile.reduce sum
// CHECK: tile.store {{.*}} : tensor<1x32xbf16
// CHECK: tile.store {{.*}} {vector = 4 : i32} : tensor<128x32xf32
insn.fused "step" inputs ["q", "k", "v", "g", "beta", "s"] outputs ["o"] states ["s"] {
^bb0(%q: tensor<16x128xbf16>, %k: tensor<16x128xbf16>, %v: tensor<32x128xbf16>,
     %g: tensor<32xf32>, %beta: tensor<32xf32>, %s: tensor<32x128x128xf32>):
  %o = insn.gdn_step %q, %k, %v, %g, %beta, %s {qk_l2norm = true}
      : (tensor<16x128xbf16>, tensor<16x128xbf16>, tensor<32x128xbf16>,
         tensor<32xf32>, tensor<32xf32>, tensor<32x128x128xf32>)
      -> tensor<32x128xbf16>
  insn.yield %o : tensor<32x128xbf16>
}

// -----

func.func @heads_divide(%q: tensor<2x4xf32>, %v: tensor<3x4xf32>, %g: tensor<3xf32>, %s: tensor<3x4x4xf32>) {
  // expected-error @below {{'insn.gdn_step' op expected a number of value heads that is a multiple of the 2 key heads, got 3}}
  %o = insn.gdn_step %q, %q, %v, %g, %g, %s : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x4x4xf32>) -> tensor<3x4xf32>
  return
}
