//===- MatrixForms.cpp - mma.sync in all types but f16 and bf16 to f32 ----===//
//
// Fragments of all shapes are alike. With lane l, g = l / 4, t = l % 4 and P
// elements a register: register r of A is row g + 8 (r % 2), its columns begin
// at P t + 4 P (r / 2); register r of B is column g, its rows begin at P t +
// 4 P r; result i is row g + 8 (i / 2), column 2 t + i % 2. Shapes of 8 rows
// have the first register of A and the first two results.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Rounding.h"
#include "codegen/device/emulator/ops/DotRows.h"
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>
#include <cstring>

using namespace tandem::emulator;

namespace {
/// What an instruction is, kept in Inst::imm.
struct Form {
  uint8_t rows = 16;
  uint8_t perRegister = 1; // elements
  uint8_t aCount = 0, bCount = 0;
  DotFormat a = DotFormat::F16, b = DotFormat::F16;
  uint8_t flags = 0;
  int k() const { return perRegister * 4 * bCount; }
  int results() const { return rows / 4; }
};
static_assert(sizeof(Form) <= sizeof(Inst::imm));
enum FormFlag : uint8_t {
  aSigned = 1,
  bSigned = 2,
  saturates = 4,
  halfResult = 8,
  exclusiveOr = 16,
};

Form formOf(const Inst &inst) {
  Form form;
  std::memcpy(&form, &inst.imm, sizeof form);
  return form;
}

/// Calls f(row, k, register's number, lane, element) for all of A.
template <typename F>
void forEachA(const Form &form, F f) {
  const int p = form.perRegister;
  for (int r = 0; r < form.aCount; ++r)
    for (int l = 0; l < warpSize; ++l)
      for (int e = 0; e < p; ++e)
        f(l / 4 + 8 * (r % 2), p * (l % 4) + 4 * p * (r / 2) + e, r, l, e);
}
/// Calls f(k, column, register's number, lane, element) for all of B.
template <typename F>
void forEachB(const Form &form, F f) {
  const int p = form.perRegister;
  for (int r = 0; r < form.bCount; ++r)
    for (int l = 0; l < warpSize; ++l)
      for (int e = 0; e < p; ++e)
        f(p * (l % 4) + 4 * p * r + e, l / 4, r, l, e);
}

/// Registers of d, a, b and c, in this order, from Inst::list on.
struct Fragments {
  Exec &x;
  const Slot *d, *a, *b, *c;
  Fragments(Exec &x, const Inst &inst, const Form &form)
      : x(x), d(&x.cta->program->slots[inst.list]) {
    a = d + (form.flags & halfResult ? form.results() / 2 : form.results());
    b = a + form.aCount;
    c = b + form.bCount;
  }
  /// Element e of \p bits bits.
  uint32_t at(const Slot *slots, int r, int lane, int e, int bits) const {
    uint32_t word = x.lanes<uint32_t>(slots[r])[lane];
    return bits == 32 ? word : word >> (bits * e) & ((1u << bits) - 1);
  }
};

int row(int lane, int i) { return lane / 4 + 8 * (i / 2); }
int column(int lane, int i) { return 2 * (lane % 4) + i % 2; }

/// c[row][column] from the accumulator's registers.
template <typename T>
void readAccumulator(const Fragments &all, const Form &form, T (&c)[16][8]) {
  for (int i = 0; i < form.results(); ++i)
    for (int l = 0; l < warpSize; ++l)
      if (form.flags & halfResult)
        c[row(l, i)][column(l, i)] = static_cast<T>(halfToFloat(
            static_cast<uint16_t>(all.at(all.c, i / 2, l, i % 2, 16))));
      else
        c[row(l, i)][column(l, i)] = all.x.lanes<T>(all.c[i])[l];
}
template <typename T>
void writeResult(Fragments &all, const Form &form, const T (&c)[16][8]) {
  for (int i = 0; i < form.results(); ++i)
    setLanes<T>(all.x, all.d[i],
                [&](int l) { return c[row(l, i)][column(l, i)]; });
}

DotOperand &scratch(bool isB) {
  static thread_local DotOperand operands[2];
  return operands[isB];
}

/// f16 and tf32 operands: one dot product in the tensor core.
void floats(Exec &x, const Inst &inst) {
  const Form form = formOf(inst);
  Fragments all(x, inst, form);
  const int bits = 32 / form.perRegister;
  DotOperand &a = scratch(false), &b = scratch(true);
  a.reset(16, form.k());
  b.reset(form.k(), 8);
  forEachA(form, [&](int i, int k, int r, int l, int e) {
    setDotOperand(a, form.a, i, k, all.at(all.a, r, l, e, bits), false, false);
  });
  forEachB(form, [&](int k, int n, int r, int l, int e) {
    setDotOperand(b, form.b, k, n, all.at(all.b, r, l, e, bits), false, true);
  });
  float c[16][8];
  readAccumulator(all, form, c);
  dotRows(form.a, a, b, &c[0][0], 8, form.flags & halfResult);
  if (!(form.flags & halfResult)) {
    writeResult(all, form, c);
    return;
  }
  for (int i = 0; i < form.results(); i += 2)
    setLanes<uint32_t>(x, all.d[i / 2], [&](int l) {
      const float *pair = &c[row(l, i)][column(l, i)];
      return uint32_t(dotToHalf(pair[0])) | uint32_t(dotToHalf(pair[1])) << 16;
    });
}

/// FP8 on Hopper is two products of f16, of the lower and of the upper halves
/// of all registers, from zero; their sum is then added to the accumulator in
/// f32: so ptxas expands it.
void eightBitFloats(Exec &x, const Inst &inst) {
  const Form form = formOf(inst);
  Fragments all(x, inst, form);
  auto widen = [](DotFormat format, uint32_t code) {
    auto byte = static_cast<uint8_t>(code);
    return uint32_t(floatToHalf(format == DotFormat::E4M3 ? e4m3ToFloat(byte)
                                                          : e5m2ToFloat(byte)));
  };
  DotOperand &a = scratch(false), &b = scratch(true);
  float product[16][8] = {};
  const int half = form.k() / 2;
  for (int part = 0; part < 2; ++part) {
    a.reset(16, half);
    b.reset(half, 8);
    forEachA(form, [&](int i, int k, int r, int l, int e) {
      if (e / 2 == part)
        setDotOperand(a, DotFormat::F16, i, k / 4 * 2 + k % 2,
                      widen(form.a, all.at(all.a, r, l, e, 8)), false, false);
    });
    forEachB(form, [&](int k, int n, int r, int l, int e) {
      if (e / 2 == part)
        setDotOperand(b, DotFormat::F16, k / 4 * 2 + k % 2, n,
                      widen(form.b, all.at(all.b, r, l, e, 8)), false, true);
    });
    dotRows(DotFormat::F16, a, b, &product[0][0], 8);
  }
  float c[16][8];
  readAccumulator(all, form, c);
  for (int i = 0; i < 16; ++i)
    for (int n = 0; n < 8; ++n)
      c[i][n] = canonical(c[i][n] + product[i][n]);
  writeResult(all, form, c);
}

/// One fused multiply-add after the other, k ascending.
void doubles(Exec &x, const Inst &inst) {
  const Form form = formOf(inst);
  Fragments all(x, inst, form);
  double a[16][16] = {}, b[16][8] = {}, c[16][8];
  forEachA(form, [&](int i, int k, int r, int l, int) {
    a[i][k] = x.lanes<double>(all.a[r])[l];
  });
  forEachB(form, [&](int k, int n, int r, int l, int) {
    b[k][n] = x.lanes<double>(all.b[r])[l];
  });
  readAccumulator(all, form, c);
  for (int i = 0; i < form.rows; ++i)
    for (int n = 0; n < 8; ++n) {
      for (int k = 0; k < form.k(); ++k) {
        const double sum = std::fma(a[i][k], b[k][n], c[i][n]);
        c[i][n] = sum == sum ? sum : nanOf(a[i][k], c[i][n], b[k][n]);
      }
    }
  writeResult(all, form, c);
}

int32_t extend(uint32_t value, int bits, bool isSigned) {
  if (!isSigned)
    return static_cast<int32_t>(value);
  const int unused = 32 - bits;
  return static_cast<int32_t>(value << unused) >> unused;
}

void integers(Exec &x, const Inst &inst) {
  const Form form = formOf(inst);
  Fragments all(x, inst, form);
  const int bits = 32 / form.perRegister;
  int32_t a[16 * 64] = {}, b[64 * 8], c[16][8];
  forEachA(form, [&](int i, int k, int r, int l, int e) {
    a[i * form.k() + k] =
        extend(all.at(all.a, r, l, e, bits), bits, form.flags & aSigned);
  });
  forEachB(form, [&](int k, int n, int r, int l, int e) {
    b[k * 8 + n] =
        extend(all.at(all.b, r, l, e, bits), bits, form.flags & bSigned);
  });
  readAccumulator(all, form, c);
  dotRowsInteger(a, b, form.rows, form.k(), 8, &c[0][0], 8,
                 form.flags & saturates);
  writeResult(all, form, c);
}

/// Adds the number of ones of a AND b, or of a XOR b.
void bits(Exec &x, const Inst &inst) {
  const Form form = formOf(inst);
  Fragments all(x, inst, form);
  Form words = form; // 32 elements a register are one word
  words.perRegister = 1;
  int32_t a[16 * 8] = {}, b[8 * 8];
  forEachA(words, [&](int i, int k, int r, int l, int) {
    a[i * words.k() + k] = x.lanes<int32_t>(all.a[r])[l];
  });
  forEachB(words, [&](int k, int n, int r, int l, int) {
    b[k * 8 + n] = x.lanes<int32_t>(all.b[r])[l];
  });
  uint32_t c[16][8];
  readAccumulator(all, form, c);
  dotRowsBits(a, b, form.rows, words.k(), 8, &c[0][0], 8,
              form.flags & exclusiveOr);
  writeResult(all, form, c);
}

/// `.m16n8k32`: rows and k.
void readShape(std::string_view shape, int &rows, int &k) {
  rows = shape.starts_with(".m16") ? 16 : 8;
  k = 0;
  for (char digit : shape.substr(shape.find('k') + 1))
    k = 10 * k + (digit - '0');
}

void build(Builder &b, const Match &m, Form form, Handler run, Type operand,
           Type result) {
  int rows, k;
  readShape(m.parts[2], rows, k);
  form.rows = static_cast<uint8_t>(rows);
  form.bCount = static_cast<uint8_t>(k / (4 * form.perRegister));
  form.aCount = static_cast<uint8_t>(form.bCount * rows / 8);
  if (!b.expect(4))
    return;
  auto results = static_cast<size_t>(
      form.flags & halfResult ? form.results() / 2 : form.results());
  b.inst->flow = Flow::Converge;
  b.inst->list = b.vector(b.operand(0), results, result, true);
  b.vector(b.operand(1), form.aCount, operand, false);
  b.vector(b.operand(2), form.bCount, operand, false);
  b.vector(b.operand(3), results, result, false);
  std::memcpy(&b.inst->imm, &form, sizeof form);
  b.inst->run = run;
}
} // namespace

static void buildHalf(Builder &b, const Match &m) {
  Form form;
  form.perRegister = 2;
  form.flags = halfResult;
  build(b, m, form, floats, Type::B32, Type::B32);
}
static void buildTf32(Builder &b, const Match &m) {
  Form form;
  form.a = form.b = DotFormat::TF32;
  build(b, m, form, floats, Type::B32, Type::F32);
}
static void buildFp8(Builder &b, const Match &m) {
  Form form;
  form.perRegister = 4;
  form.a = m.is(6, ".e4m3") ? DotFormat::E4M3 : DotFormat::E5M2;
  form.b = m.is(7, ".e4m3") ? DotFormat::E4M3 : DotFormat::E5M2;
  build(b, m, form, eightBitFloats, Type::B32, Type::F32);
}
static void buildDouble(Builder &b, const Match &m) {
  Form form;
  build(b, m, form, doubles, Type::F64, Type::F64);
}
static void buildInteger(Builder &b, const Match &m) {
  Form form;
  auto isSigned = [&](size_t part) { return m.parts[part][1] == 's'; };
  form.perRegister = m.parts[7].back() == '4' ? 8 : 4;
  form.flags = static_cast<uint8_t>((isSigned(7) ? aSigned : 0) |
                                    (isSigned(8) ? bSigned : 0) |
                                    (m.has(5) ? saturates : 0));
  build(b, m, form, integers, Type::B32, Type::S32);
}
static void buildBits(Builder &b, const Match &m) {
  Form form;
  form.perRegister = 32;
  form.flags = m.is(9, ".xor") ? exclusiveOr : 0;
  build(b, m, form, bits, Type::B32, Type::B32);
}

std::span<const Row> tandem::emulator::matrixFormRows() {
  static const Row rows[] = {
      {"mma", ".sync .aligned .m16n8k16|.m16n8k8 .row .col .f16 .f16 .f16 .f16",
       buildHalf, "bit for bit as measured on an H200"},
      {"mma",
       ".sync .aligned .m16n8k8|.m16n8k4 .row .col .f32 .tf32 .tf32 .f32",
       buildTf32, "bit for bit as measured on an H200"},
      {"mma",
       ".sync .aligned .m16n8k32 .row .col .f32 .e4m3|.e5m2 .e4m3|.e5m2 .f32",
       buildFp8, "as ptxas expands it for Hopper: two products of f16"},
      {"mma",
       ".sync .aligned .m8n8k4|.m16n8k4|.m16n8k8|.m16n8k16 .row .col .f64 "
       ".f64 .f64 .f64",
       buildDouble, "fused multiply-adds, k ascending"},
      {"mma",
       ".sync .aligned .m8n8k16 .row .col .satfinite? .s32 .u8|.s8 .u8|.s8 "
       ".s32",
       buildInteger, "exact; wraps without .satfinite"},
      {"mma",
       ".sync .aligned .m16n8k64|.m16n8k32|.m8n8k32 .row .col .satfinite? "
       ".s32 .u4|.s4 .u4|.s4 .s32",
       buildInteger, "exact; wraps without .satfinite"},
      {"mma",
       ".sync .aligned .m16n8k256|.m16n8k128|.m8n8k128 .row .col .s32 .b1 .b1 "
       ".s32 .and|.xor .popc",
       buildBits},
  };
  return rows;
}
