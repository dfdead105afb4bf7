//===- Ceilings.cpp - The best plain copy or read of so many bytes --------===//
#include "harness/bench/Ceilings.h"

using namespace tandem;
using namespace tandem::bench;

namespace {
struct Shape {
  int threads;
  /// 16-byte loads in flight a thread.
  int unroll;
  /// CTAs a multiprocessor of a persistent grid; 0: one pass.
  int waves;
};
} // namespace

static std::string number(int64_t value) { return std::to_string(value); }

/// Thread t of CTA c takes the vectors c * T * U + t + u * T for u below U,
/// then those a grid further on.
static std::string kernelText(const Shape &shape, bool copies) {
  const std::string step = number(int64_t(shape.threads) * 16);
  const int span = shape.threads * shape.unroll;
  std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry plain(.param .u64 x, .param .u64 y, .param .u64 n) {
.reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<16>; .reg .b32 %v<128>;
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u64 %d3, [n];
cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;
mov.u32 %r4, 0;
)";
  text += "mul.wide.u32 %d4, %r2, " + number(span) + ";\n" +
          "cvt.u64.u32 %d5, %r1; add.s64 %d4, %d4, %d5;\n" +
          "mul.wide.u32 %d6, %r3, " + number(span) + ";\n" +
          "LOOP:\nsetp.ge.s64 %p1, %d4, %d3;\n@%p1 bra DONE;\n" +
          "shl.b64 %d7, %d4, 4; add.s64 %d8, %d1, %d7;" +
          " add.s64 %d9, %d2, %d7;\nadd.s64 %d10, %d4, " +
          number(int64_t(shape.threads) * (shape.unroll - 1)) +
          ";\nsetp.ge.s64 %p1, %d10, %d3;\n@%p1 bra TAIL;\n";
  const auto vector = [](int u) {
    std::string list = "{";
    for (int i = 0; i < 4; ++i)
      list += "%v" + number(4 * u + i) + (i == 3 ? "}" : ",");
    return list;
  };
  const auto offset = [&](int u) {
    return number(int64_t(shape.threads) * 16 * u);
  };
  const auto use = [&](int u, const std::string &at) {
    if (copies)
      return "st.global.v4.b32 [%d9+" + at + "], " + vector(u) + ";\n";
    std::string words;
    for (int i = 0; i < 4; ++i)
      words += "xor.b32 %r4, %r4, %v" + number(4 * u + i) + ";\n";
    return words;
  };
  for (int u = 0; u < shape.unroll; ++u)
    text += "ld.global.nc.L1::no_allocate.v4.b32 " + vector(u) + ", [%d8+" +
            offset(u) + "];\n";
  for (int u = 0; u < shape.unroll; ++u)
    text += use(u, offset(u));
  text += "add.s64 %d4, %d4, %d6;\nbra LOOP;\n"
          "TAIL:\nsetp.ge.s64 %p1, %d4, %d3;\n@%p1 bra DONE;\n"
          "ld.global.nc.L1::no_allocate.v4.b32 " +
          vector(0) + ", [%d8];\n" + use(0, "0") + "add.s64 %d4, %d4, " +
          number(shape.threads) + "; add.s64 %d8, %d8, " + step +
          "; add.s64 %d9, %d9, " + step + ";\nbra TAIL;\nDONE:\n";
  // Stored where all words of a thread cancel to this one, which keeps the
  // loads alive and happens to no data that we make.
  if (!copies)
    text += "setp.ne.u32 %p1, %r4, 0x7a5c91e3;\n@%p1 bra END;\n"
            "st.global.b32 [%d2], %r4;\nEND:\n";
  return text + "ret;\n}\n";
}

std::vector<PlainKernel> tandem::bench::plainKernels(Ceiling ceiling,
                                                     int processors) {
  static constexpr Shape shapes[] = {
      {256, 4, 0},  {256, 8, 0}, {512, 4, 0}, {512, 2, 0}, {1024, 2, 0},
      {1024, 1, 0}, {256, 8, 8}, {512, 8, 4}, {512, 4, 4}, {1024, 4, 2}};
  const bool copies = ceiling == Ceiling::Copy;
  std::vector<PlainKernel> kernels;
  for (const Shape &shape : shapes) {
    PlainKernel plain;
    plain.name = std::string(ceilingName(ceiling)) + " " +
                 number(shape.threads) + "x" + number(shape.unroll) +
                 (shape.waves ? " x" + number(shape.waves) + " resident" : "");
    plain.kernel.ptx = kernelText(shape, copies);
    LaunchRecord &record = plain.kernel.launch;
    record.kernel = "plain";
    record.target = "sm_80";
    record.block = {shape.threads, 1, 1};
    record.operands = {{"x", DType::U8, 1, RecordOperand::Role::In},
                       {"y", DType::U8, 1, RecordOperand::Role::Out}};
    const auto parsed = [](const std::string &expr) {
      return IntExpr::parse(expr).take();
    };
    record.args = {{KernelArg::Kind::Pointer, 0, IntExpr(0)},
                   {KernelArg::Kind::Pointer, 1, IntExpr(0)},
                   {KernelArg::Kind::I64, -1, parsed("x.shape[0] / 16")}};
    const std::string whole =
        "ceildiv(x.shape[0], " +
        number(int64_t(shape.threads) * shape.unroll * 16) + ")";
    record.grid[0] =
        parsed(shape.waves ? "min(" + whole + ", " +
                                 number(int64_t(processors) * shape.waves) + ")"
                           : whole);
    record.preconditions = {
        {parsed("x.shape[0] % 16 == 0"), "16 bytes are moved at a time"},
        {parsed("x.align >= 16"), "16 bytes are moved at a time"},
        {parsed("y.align >= 16"), "16 bytes are moved at a time"}};
    kernels.push_back(std::move(plain));
  }
  return kernels;
}
