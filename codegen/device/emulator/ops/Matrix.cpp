//===- Matrix.cpp - ldmatrix, stmatrix and mma.sync -----------------------===//
#include "codegen/device/emulator/Checker.h"
#include "codegen/device/emulator/ops/Families.h"
#include "codegen/device/emulator/ops/Spaces.h"
#include "codegen/device/emulator/ops/TensorCore.h"

#include <algorithm>
#include <cstring>

using namespace tandem::emulator;

// ldmatrix and stmatrix: lanes 8m .. 8m+7 give the addresses of matrix m's rows
// of 16 bytes; lane l holds elements (l / 4, 2 (l % 4)) and the next, or, when
// transposed, (2 (l % 4), l / 4) and the one below.

static void rowsOf(Exec &x, const Inst &i, AccessKind kind, Accessible &rows,
                   char *(&host)[warpSize]) {
  uint64_t address[warpSize];
  addressesOf(x, i, address);
  uint32_t active = x.active;
  if (i.count < 4)
    x.active &= (uint32_t(1) << (8 * i.count)) - 1;
  rows.lanes = 0;
  rows.contiguous = nullptr;
  if (x.active)
    checkAccess(x, i, i.space, address, 16, kind, Scope::Weak, rows);
  forEachLane(rows.lanes, [&](unsigned l) {
    host[l] = rows.contiguous ? rows.contiguous + 16 * l : rows.host[l];
  });
  x.active = active;
}

static void loadMatrix(Exec &x, const Inst &i) {
  Accessible rows;
  char *host[warpSize];
  rowsOf(x, i, AccessKind::Read, rows, host);
  const Slot *slots = &x.cta->program->slots[i.list];
  uint32_t values[4][warpSize];
  for (unsigned m = 0; m < i.count; ++m) {
    uint16_t matrix[8][8] = {};
    for (unsigned row = 0; row < 8; ++row)
      if (rows.lanes >> (8 * m + row) & 1)
        std::memcpy(matrix[row], host[8 * m + row], 16);
    for (unsigned l = 0; l < warpSize; ++l) {
      unsigned major = l / 4, minor = 2 * (l % 4);
      uint32_t low = i.mode ? matrix[minor][major] : matrix[major][minor];
      uint32_t high =
          i.mode ? matrix[minor + 1][major] : matrix[major][minor + 1];
      values[m][l] = low | high << 16;
    }
  }
  for (unsigned m = 0; m < i.count; ++m)
    setLanes<uint32_t>(x, slots[m], [&](int l) { return values[m][l]; });
}

static void storeMatrix(Exec &x, const Inst &i) {
  Accessible rows;
  char *host[warpSize];
  rowsOf(x, i, AccessKind::Write, rows, host);
  const Slot *slots = &x.cta->program->slots[i.list];
  for (unsigned m = 0; m < i.count; ++m) {
    const uint32_t *value = x.lanes<uint32_t>(slots[m]);
    uint16_t matrix[8][8];
    for (unsigned l = 0; l < warpSize; ++l) {
      unsigned major = l / 4, minor = 2 * (l % 4);
      auto low = static_cast<uint16_t>(value[l]);
      auto high = static_cast<uint16_t>(value[l] >> 16);
      (i.mode ? matrix[minor][major] : matrix[major][minor]) = low;
      (i.mode ? matrix[minor + 1][major] : matrix[major][minor + 1]) = high;
    }
    for (unsigned row = 0; row < 8; ++row)
      if (rows.lanes >> (8 * m + row) & 1)
        std::memcpy(host[8 * m + row], matrix[row], 16);
  }
}

/// Parts: sync, aligned, shape, count, trans, space, type.
template <bool Load>
static void buildMatrixAccess(Builder &b, const Match &m) {
  if (!b.expect(2))
    return;
  b.inst->flow = Flow::Converge;
  b.inst->space = Space::Generic;
  spaceNamed(m.parts[5], b.inst->space);
  b.inst->count = m.is(3, ".x1") ? 1 : m.is(3, ".x2") ? 2 : 4;
  b.inst->mode = m.has(4);
  b.address(Load ? 1 : 0);
  b.inst->list =
      b.vector(b.operand(Load ? 0 : 1), b.inst->count, Type::B32, Load);
  b.inst->run = Load ? loadMatrix : storeMatrix;
}

// mma.sync: registers of d, a, b and c, in this order, from `list` on. Lane l
// has group g = l / 4 and place t = l % 4; fragments as in the PTX ISA.

namespace {
uint16_t halfOf(uint32_t word, unsigned half) {
  return static_cast<uint16_t>(word >> (16 * half));
}
} // namespace

template <DotType T, int K>
static void mmaFloat(Exec &x, const Inst &i) {
  const Slot *slots = &x.cta->program->slots[i.list];
  constexpr unsigned aCount = K / 4, bCount = K / 8;
  uint16_t a[16][16], b[16][8];
  float c[16][8];
  for (unsigned l = 0; l < warpSize; ++l) {
    unsigned g = l / 4, t = l % 4;
    for (unsigned r = 0; r < aCount; ++r) {
      uint32_t word = x.lanes<uint32_t>(slots[4 + r])[l];
      for (unsigned h = 0; h < 2; ++h)
        a[g + 8 * (r % 2)][2 * t + h + 8 * (r / 2)] = halfOf(word, h);
    }
    for (unsigned r = 0; r < bCount; ++r) {
      uint32_t word = x.lanes<uint32_t>(slots[4 + aCount + r])[l];
      for (unsigned h = 0; h < 2; ++h)
        b[2 * t + h + 8 * r][g] = halfOf(word, h);
    }
    for (unsigned r = 0; r < 4; ++r)
      c[g + 8 * (r / 2)][2 * t + r % 2] =
          x.lanes<float>(slots[4 + aCount + bCount + r])[l];
  }
  tensorDot(T, K, a, b, c, c);
  for (unsigned r = 0; r < 4; ++r)
    setLanes<float>(x, slots[r], [&](int l) {
      return c[l / 4 + 8 * int(r / 2)][2 * (l % 4) + int(r % 2)];
    });
}

// mode: 1 a signed, 2 b signed, 4 saturate.
template <int K>
static void mmaInteger(Exec &x, const Inst &i) {
  const Slot *slots = &x.cta->program->slots[i.list];
  constexpr unsigned aCount = K / 8, bCount = K / 16;
  int32_t a[16][K], b[8][K];
  int32_t c[16][8];
  auto widen = [](uint32_t word, unsigned byte, bool isSigned) {
    auto bits = static_cast<uint8_t>(word >> (8 * byte));
    return isSigned ? int32_t(static_cast<int8_t>(bits)) : int32_t(bits);
  };
  for (unsigned l = 0; l < warpSize; ++l) {
    unsigned g = l / 4, t = l % 4;
    for (unsigned r = 0; r < aCount; ++r)
      for (unsigned e = 0; e < 4; ++e)
        a[g + 8 * (r % 2)][4 * t + e + 16 * (r / 2)] =
            widen(x.lanes<uint32_t>(slots[4 + r])[l], e, i.mode & 1);
    for (unsigned r = 0; r < bCount; ++r)
      for (unsigned e = 0; e < 4; ++e)
        b[g][4 * t + e + 16 * r] =
            widen(x.lanes<uint32_t>(slots[4 + aCount + r])[l], e, i.mode & 2);
    for (unsigned r = 0; r < 4; ++r)
      c[g + 8 * (r / 2)][2 * t + r % 2] =
          x.lanes<int32_t>(slots[4 + aCount + bCount + r])[l];
  }
  for (int row = 0; row < 16; ++row)
    for (int n = 0; n < 8; ++n) {
      int64_t sum = c[row][n];
      for (int k = 0; k < K; ++k)
        sum += a[row][k] * b[n][k];
      if (i.mode & 4)
        sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
      c[row][n] = static_cast<int32_t>(sum);
    }
  for (unsigned r = 0; r < 4; ++r)
    setLanes<int32_t>(x, slots[r], [&](int l) {
      return c[l / 4 + 8 * int(r / 2)][2 * (l % 4) + int(r % 2)];
    });
}

static void fragments(Builder &b, size_t aCount, size_t bCount, Type result) {
  if (!b.expect(4))
    return;
  b.inst->flow = Flow::Converge;
  b.inst->list = b.vector(b.operand(0), 4, result, true);
  b.vector(b.operand(1), aCount, Type::B32, false);
  b.vector(b.operand(2), bCount, Type::B32, false);
  b.vector(b.operand(3), 4, result, false);
}
static void buildMmaFloat(Builder &b, const Match &m) {
  bool isK16 = m.is(2, ".m16n8k16"), isHalf = m.is(6, ".f16");
  if (m.parts[6] != m.parts[7]) {
    b.fail(cat("'", b.ast->text(), "' mixes operand types"));
    return;
  }
  fragments(b, isK16 ? 4 : 2, isK16 ? 2 : 1, Type::F32);
  b.inst->run =
      isHalf
          ? (isK16 ? &mmaFloat<DotType::F16, 16> : &mmaFloat<DotType::F16, 8>)
          : (isK16 ? &mmaFloat<DotType::BF16, 16>
                   : &mmaFloat<DotType::BF16, 8>);
}
static void buildMmaInteger(Builder &b, const Match &m) {
  bool isK32 = m.is(2, ".m16n8k32");
  fragments(b, isK32 ? 4 : 2, isK32 ? 2 : 1, Type::S32);
  b.inst->mode = static_cast<uint8_t>(m.is(7, ".s8") | m.is(8, ".s8") << 1 |
                                      m.has(5) << 2);
  b.inst->run = isK32 ? &mmaInteger<32> : &mmaInteger<16>;
}

std::span<const Row> tandem::emulator::matrixRows() {
  static const Row rows[] = {
      {"ldmatrix",
       ".sync .aligned .m8n8 .x1|.x2|.x4 .trans? .shared|.shared::cta? .b16",
       buildMatrixAccess<true>},
      {"stmatrix",
       ".sync .aligned .m8n8 .x1|.x2|.x4 .trans? .shared|.shared::cta? .b16",
       buildMatrixAccess<false>},
      {"mma",
       ".sync .aligned .m16n8k16|.m16n8k8 .row .col .f32 .f16|.bf16 "
       ".f16|.bf16 .f32",
       buildMmaFloat, "bit for bit as measured on an H200"},
      {"mma",
       ".sync .aligned .m16n8k32|.m16n8k16 .row .col .satfinite? .s32 .u8|.s8 "
       ".u8|.s8 .s32",
       buildMmaInteger, "exact; wraps without .satfinite"},
  };
  return rows;
}
