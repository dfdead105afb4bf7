// RUN: tandem-opt %s --split-input-file --tile-lower --verify-diagnostics

// expected-error @below {{a row must have 128 bytes, got 64}}
func.func @rows_have_128_bytes(%x: !tile.map<128x32xbf16>) attributes {tile.warps = 4 : i32} {
  return
}

// -----

// expected-error @below {{rows must be a multiple of 8 up to 256, got 12}}
func.func @rows_are_whole_patterns(%x: !tile.map<12x64xbf16>) attributes {tile.warps = 4 : i32} {
  return
}

// -----

// expected-error @below {{expected ROWSxCOLSxTYPE}}
func.func @maps_have_two_dims(%x: !tile.map<64xbf16>) attributes {tile.warps = 4 : i32} {
  return
}

// -----

func.func @stages_are_counted() attributes {tile.warps = 4 : i32} {
  // expected-error @below {{stages must be 1 to 32, got 0}}
  %ring = tile.ring : !tile.ring<0, !tile.shared<64x64xbf16>>
  return
}

// -----

func.func @parts_are_shared_tiles() attributes {tile.warps = 4 : i32} {
  // expected-error @below {{a part is a !tile.shared, got 'f32'}}
  %ring = tile.ring : !tile.ring<2, f32>
  return
}

// -----

func.func @groups_are_four_warps() attributes {tile.warps = 6 : i32} {
  // expected-error @below {{warps must be a multiple of 4, got 2}}
  tile.partition warps(4) registers(40) {
  } warps(2) registers(40) {
  }
  return
}

// -----

func.func @registers_come_in_eights() attributes {tile.warps = 4 : i32} {
  // expected-error @below {{registers must be a multiple of 8 from 24 to 256, got 20}}
  tile.partition warps(4) registers(20) {
  }
  return
}

// -----

// This is more than there are, and would wait for ever.
func.func @registers_must_exist() attributes {tile.warps = 12 : i32} {
  // expected-error @below {{asks for 66560 registers, an SM has 65536}}
  tile.partition warps(4) registers(40) {
  } warps(8) registers(240) {
  }
  return
}

// -----

func.func @all_warps_are_in_a_group() attributes {tile.warps = 8 : i32} {
  // expected-error @below {{has 4 warps, the kernel has 8}}
  tile.partition warps(4) registers(40) {
  }
  return
}

// -----

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>

func.func @layouts_belong_to_the_group(%f: f32) attributes {tile.warps = 12 : i32} {
  tile.partition warps(4) registers(40) {
  } warps(8) registers(232) {
    // expected-error @below {{result has a layout of 4 warps, but the kernel has tile.warps = 8}}
    %t = tile.splat %f : f32 -> tensor<64x64xf32, #acc>
  }
  return
}

// -----

func.func @a_ring_is_released() attributes {tile.warps = 4 : i32} {
  // expected-error @below {{has a region that releases its turns}}
  %ring = tile.ring : !tile.ring<2, !tile.shared<64x64xbf16>>
  tile.partition warps(4) registers(40) {
  }
  return
}

// -----

// expected-error @below {{takes 262176 bytes of shared memory, but a CTA has 232448}}
func.func @a_ring_fits() attributes {tile.warps = 4 : i32} {
  %ring = tile.ring : !tile.ring<2, !tile.shared<256x64xbf16>, !tile.shared<256x64xbf16>, !tile.shared<256x64xbf16>, !tile.shared<256x64xbf16>>
  tile.partition warps(4) registers(40) {
    %c0 = arith.constant 0 : i32
    tile.release %ring[%c0] : !tile.ring<2, !tile.shared<256x64xbf16>, !tile.shared<256x64xbf16>, !tile.shared<256x64xbf16>, !tile.shared<256x64xbf16>>
  }
  return
}

// -----

func.func @a_turn_has_all_parts() attributes {tile.warps = 4 : i32} {
  %ring = tile.ring : !tile.ring<2, !tile.shared<64x64xbf16>>
  tile.partition warps(4) registers(40) {
    %c0 = arith.constant 0 : i32
    // expected-error @below {{results must be the parts of a stage}}
    %a = tile.acquire %ring[%c0] : !tile.ring<2, !tile.shared<64x64xbf16>> -> !tile.shared<128x64xbf16>
  }
  return
}

// -----

func.func @boxes_fill_stages(%x: !tile.map<64x64xbf16>) attributes {tile.warps = 4 : i32} {
  %ring = tile.ring : !tile.ring<2, !tile.shared<128x64xbf16>>
  tile.partition warps(4) registers(40) {
    %c0 = arith.constant 0 : i32
    %a = tile.acquire %ring[%c0] : !tile.ring<2, !tile.shared<128x64xbf16>> -> !tile.shared<128x64xbf16>
    // expected-error @below {{the box of '!tile.map<64x64xbf16>', times 1 CTAs, must be '!tile.shared<128x64xbf16>'}}
    tile.async_copy %x[%c0, %c0] -> %a : !tile.map<64x64xbf16> -> !tile.shared<128x64xbf16>
  }
  return
}

// -----

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [16, 0]], repeat = [2, 4]>

func.func @warps_multiply_rows() attributes {tile.warps = 4 : i32} {
  %ring = tile.ring : !tile.ring<2, !tile.shared<64x64xbf16>>
  tile.partition warps(4) registers(40) {
    %c0 = arith.constant 0 : i32
    %a = tile.receive %ring[%c0] : !tile.ring<2, !tile.shared<64x64xbf16>> -> !tile.shared<64x64xbf16>
    // expected-error @below {{needs an accumulator layout with all warps along the rows}}
    %s = tile.async_dot %a, %a : (!tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>) -> !tile.pending<tensor<64x64xf32, #acc>>
  }
  return
}

// -----

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 8]>
#half = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 4]>

func.func @columns_lie_within(%f: f32) attributes {tile.warps = 4 : i32} {
  %t = tile.splat %f : f32 -> tensor<64x64xf32, #acc>
  // expected-error @below {{columns come in multiples of 8 within the operand's 64, got 32 from 40}}
  %c = tile.columns %t[40] : tensor<64x64xf32, #acc> -> tensor<64x32xf32, #half>
  return
}

// -----

#acc = #tile.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = [1, 4]>

func.func @stores_have_16_bits(%f: f32, %y: !tile.map<64x32xf32>) attributes {tile.warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %t = tile.splat %f : f32 -> tensor<64x32xf32, #acc>
  // expected-error @below {{elements have 16 bits, got 'f32'}}
  tile.async_store %t -> %y[%c0, %c0] : tensor<64x32xf32, #acc> -> !tile.map<64x32xf32>
  return
}
