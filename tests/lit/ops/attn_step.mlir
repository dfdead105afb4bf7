// RUN: tandem-opt %s --split-input-file --insn-lower-to-tile --verify-diagnostics | FileCheck %s

// The new row is written once and read as the cache holds it, not from the
// cache: no CTA reads what another writes.
// CHECK-LABEL: func @attn_step
// CHECK: tile.load_scalar {{.*}} : i32
// CHECK: tile.report_error
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: %[[NEW:.*]] = tile.load {{.*}} : tensor<1x64xf32
// CHECK: %[[ROW:.*]] = arith.truncf %[[NEW]] {{.*}} to tensor<1x64xbf16
// CHECK: tile.store %[[ROW]]
// CHECK: tile.load {{.*}} : tensor<16x64xf32
// CHECK: arith.truncf
// CHECK: arith.extf
insn.fused "decode" inputs ["q", "kn", "vn", "k", "v", "pos"] outputs ["o"] states ["k", "v"] {
^bb0(%q: tensor<2x4x64xf32>, %kn: tensor<2x2x64xf32>, %vn: tensor<2x2x64xf32>,
     %k: tensor<2x9x2x64xbf16>, %v: tensor<2x9x2x64xbf16>, %pos: tensor<2xi32>):
  %o = insn.attn_step %q, %kn, %vn, %k, %v, %pos {pos = 5 : index}
      : (tensor<2x4x64xf32>, tensor<2x2x64xf32>, tensor<2x2x64xf32>,
         tensor<2x9x2x64xbf16>, tensor<2x9x2x64xbf16>, tensor<2xi32>)
      -> tensor<2x4x64xf32>
  insn.yield %o : tensor<2x4x64xf32>
}

// -----

func.func @pos_is_required(%q: tensor<4x8xf32>, %n: tensor<2x8xf32>, %k: tensor<9x2x8xf32>) {
  // expected-error @below {{'insn.attn_step' op param 'pos'}}
  %o = insn.attn_step %q, %n, %n, %k, %k : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>) -> tensor<4x8xf32>
  return
}
