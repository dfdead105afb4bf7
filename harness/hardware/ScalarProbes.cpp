//===- ScalarProbes.cpp - Instructions whose results PTX fixes ------------===//
#include "harness/hardware/Probe.h"

using namespace tandem::hardware;

namespace {
/// \p instruction with braces, \p signature as for scalarProbe.
struct Row {
  const char *instruction;
  const char *signature;
  const char *operands = "";
};

// Every value of an operand.
constexpr Row exhaustiveRows[] = {
    {"sqrt.{rn,rz,rm,rp,rn.ftz}.f32", "all f32 -> f32"},
    {"rcp.{rn,rz,rm,rp,rn.ftz}.f32", "all f32 -> f32"},
    {"{neg,abs}{,.ftz}.f32", "all f32 -> f32"},
    {"cvt.{rn,rz,rm,rp}.f16.f32", "all f32 -> f16"},
    {"cvt.{rn,rz}.bf16.f32", "all f32 -> bf16"},
    {"cvt.{rn,rz,rn.relu}.{f16x2,bf16x2}.f32", "all f32 -> u32",
     "%y, %x0, %x0"},
    {"cvt.{rna,rn,rz}.tf32.f32", "all f32 -> u32"},
    {"cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f32", "all f32 -> u16",
     "%y, %x0, %x0"},
    {"cvt.rn.satfinite.{e4m3x2,e5m2x2}.f16x2", "all f16x2 -> u16"},
    {"cvt.{rni,rzi,rmi,rpi,rni.ftz}.f32.f32", "all f32 -> f32"},
    {"cvt.{rni,rzi,rmi,rpi,rzi.ftz}.s32.f32", "all f32 -> u32"},
    {"cvt.{rni,rzi}.u32.f32", "all f32 -> u32"},
    {"cvt.rzi.{s64,u64}.f32", "all f32 -> u64"},
    {"cvt.rzi.{s16,u16}.f32", "all f32 -> u16"},
    {"cvt.sat.f32.f32", "all f32 -> f32"},
    {"cvt.f64.f32", "all f32 -> f64"},
    {"cvt.{rn,rz,rm,rp}.f32.s32", "all u32 -> f32"},
    {"cvt.{rn,rz}.f32.u32", "all u32 -> f32"},
    {"cvt.rn.{f16,bf16}.s32", "all u32 -> u16"},
    {"cvt.rn.f64.s32", "all u32 -> f64"},
    {"cvt.sat.{s16,u16}.s32", "all u32 -> u16"},
    {"cvt.sat.{s8,u8}.s32", "all u32 -> u32"},
    {"{popc,clz,brev,not}.b32", "all u32 -> u32"},
    {"bfind.{u32,s32}", "all u32 -> u32"},
    {"bfind.shiftamt.{u32,s32}", "all u32 -> u32"},
    {"cvt.f32.f16", "all f16 -> f32"},
    {"cvt.f64.f16", "all f16 -> f64"},
    {"cvt.f32.bf16", "all bf16 -> f32"},
    {"cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2}", "all u16 -> u32"},
    {"cvt.{rni,rzi,rmi,rpi}.f16.f16", "all f16 -> f16"},
    {"cvt.{rni,rzi}.{s32,u32}.f16", "all f16 -> u32"},
    {"cvt.{rni,rzi}.{s16,u16}.f16", "all f16 -> u16"},
    {"cvt.rn.{f16,bf16}.{s16,u16}", "all u16 -> u16"},
    {"cvt.{s32.s16,u32.u16,s32.s8,u32.u8}", "all u16 -> u32"},
    {"{neg,abs}{,.ftz}.f16", "all f16 -> f16"},
    {"{neg,abs}.bf16", "all bf16 -> bf16"},
};

// Random operands, in strata of different kinds (Inputs.h).
constexpr Row randomRows[] = {
    {"{add,sub,mul}.{rn,rz,rm,rp,rn.ftz,rn.sat,rn.ftz.sat}.f32",
     "f32 f32 -> f32"},
    {"fma.{rn,rz,rm,rp,rn.ftz,rn.sat,rn.ftz.sat}.f32", "f32 f32 f32 -> f32"},
    {"div.{rn,rz,rm,rp,rn.ftz}.f32", "f32 f32 -> f32"},
    {"{min,max}{,.ftz,.NaN,.xorsign.abs,.NaN.xorsign.abs}.f32",
     "f32 f32 -> f32"},
    {"copysign.f32", "f32 f32 -> f32"},
    {"{add,mul}.{rn,rz,rm,rp}.f64", "f64 f64 -> f64"},
    {"fma.{rn,rz,rm,rp}.f64", "f64 f64 f64 -> f64"},
    {"div.{rn,rz,rm,rp}.f64", "f64 f64 -> f64"},
    {"{sqrt,rcp}.{rn,rz,rm,rp}.f64", "f64 -> f64"},
    {"{min,max}.f64", "f64 f64 -> f64"},
    {"cvt.{rn,rz,rm,rp,rn.ftz}.f32.f64", "f64 -> f32"},
    {"cvt.{rn,rz}.f16.f64", "f64 -> f16"},
    {"cvt.{rni,rzi,rmi,rpi}.{s32,u32}.f64", "f64 -> u32"},
    {"cvt.{rni,rzi,rmi,rpi}.{s64,u64}.f64", "f64 -> u64"},
    {"cvt.{rni,rmi}.{s64,u64}.f32", "f32 -> u64"},
    {"cvt.{rni,rzi,rmi,rpi}.f64.f64", "f64 -> f64"},
    {"cvt.{rn,rz,rm,rp}.f32.{s64,u64}", "u64 -> f32"},
    {"cvt.{rn,rz,rm,rp}.f64.{s64,u64}", "u64 -> f64"},
    {"{add,sub,mul}.rn{,.ftz,.sat,.ftz.sat}.f16x2", "f16x2 f16x2 -> f16x2"},
    {"fma.rn{,.ftz,.sat,.relu,.ftz.relu}.f16x2", "f16x2 f16x2 f16x2 -> f16x2"},
    {"{add,sub,mul}.rn.f16", "f16 f16 -> f16"},
    {"fma.rn{,.relu}.f16", "f16 f16 f16 -> f16"},
    {"{add,sub,mul}.rn.bf16x2", "bf16x2 bf16x2 -> bf16x2"},
    {"fma.rn{,.relu}.bf16x2", "bf16x2 bf16x2 bf16x2 -> bf16x2"},
    {"{min,max}{,.ftz,.NaN,.xorsign.abs,.NaN.xorsign.abs}.f16x2",
     "f16x2 f16x2 -> f16x2"},
    {"{min,max}{,.NaN,.xorsign.abs}.bf16x2", "bf16x2 bf16x2 -> bf16x2"},
    {"{neg,abs}.{f16x2,bf16x2}", "u32 -> u32"},
    {"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan,lt.ftz}.f32",
     "f32 f32 -> p"},
    {"setp.{eq,lt,ltu,nan}.f64", "f64 f64 -> p"},
    {"setp.{eq,lt,ltu,nan}.f16", "f16 f16 -> p"},
    {"set.{lt,geu}.{u32,f32}.f32", "f32 f32 -> u32"},
    {"set.{lt,geu}.{f16x2.f16x2,bf16x2.bf16x2}", "u32 u32 -> u32"},
    {"testp.{finite,infinite,number,notanumber,normal,subnormal}.f32",
     "f32 -> p"},
    {"slct.b32.s32", "u32 u32 u32 -> u32"},
    {"slct.b32.f32", "u32 u32 f32 -> u32"},
    {"{add,sub,min,max,mul.lo,mul.hi,div,rem}.{s32,u32}", "u32 u32 -> u32"},
    {"{add,sub,min,max,mul.lo,mul.hi,div,rem}.{s64,u64}", "u64 u64 -> u64"},
    {"{add,sub,min,max,mul.lo,mul.hi}.{s16,u16}", "u16 u16 -> u16"},
    {"{add,sub}.sat.s32", "u32 u32 -> u32"},
    {"{add,min,max}.{s16x2,u16x2}", "u32 u32 -> u32"},
    {"{min,max}.relu.s32", "u32 u32 -> u32"},
    {"mul.wide.{s32,u32}", "u32 u32 -> u64"},
    {"mul.wide.{s16,u16}", "u16 u16 -> u32"},
    {"mul24.{lo,hi}.{s32,u32}", "u32 u32 -> u32"},
    {"mad.{lo,hi}.{s32,u32}", "u32 u32 u32 -> u32"},
    {"mad.hi.sat.s32", "u32 u32 u32 -> u32"},
    {"mad.wide.{s32,u32}", "u32 u32 u64 -> u64"},
    {"mad24.{lo,hi}.{s32,u32}", "u32 u32 u32 -> u32"},
    {"sad.{s32,u32}", "u32 u32 u32 -> u32"},
    {"{abs,neg}.s32", "u32 -> u32"},
    {"{abs,neg}.s64", "u64 -> u64"},
    {"{popc,clz}.b64", "u64 -> u32"},
    {"{brev,not,cnot}.b64", "u64 -> u64"},
    {"cnot.b32", "u32 -> u32"},
    {"bfind.{u64,s64}", "u64 -> u32"},
    {"shf.{l,r}.{wrap,clamp}.b32", "u32 u32 n32 -> u32"},
    {"shl.b32", "u32 n32 -> u32"},
    {"shr.{u32,s32}", "u32 n32 -> u32"},
    {"shl.b64", "u64 n32 -> u64"},
    {"shr.{u64,s64}", "u64 n32 -> u64"},
    {"prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "u32 u32 u32 -> u32"},
    {"bfe.{u32,s32}", "u32 n32 n32 -> u32"},
    {"bfe.{u64,s64}", "u64 n32 n32 -> u64"},
    {"bfi.b32", "u32 u32 n32 n32 -> u32"},
    {"bfi.b64", "u64 u64 n32 n32 -> u64"},
    {"bmsk.{wrap,clamp}.b32", "n32 n32 -> u32"},
    {"szext.{wrap,clamp}.{u32,s32}", "u32 n32 -> u32"},
    {"fns.b32", "u32 n32 n32 -> u32"},
    {"dp4a.{u32,s32}.{u32,s32}", "u32 u32 u32 -> u32"},
    {"dp2a.{lo,hi}.{u32,s32}.{u32,s32}", "u32 u32 u32 -> u32"},
    {"cvt.pack.sat.{u16,s16}.s32", "u32 u32 -> u32"},
    {"cvt.pack.sat.{u8,s8}.s32.b32", "u32 u32 u32 -> u32"},
    {"cvt.sat.{s32,u32}.{s64,u64}", "u64 -> u32"},
    {"vadd.{s32,u32}.{s32,u32}.{s32,u32}.sat", "u32 u32 -> u32"},
    {"vsub.{s32,u32}.{s32,u32}.{s32,u32}.sat", "u32 u32 -> u32"},
    {"{vabsdiff,vmin,vmax}.s32.s32.s32", "u32 u32 -> u32"},
    {"{vadd4,vsub4,vavrg4,vabsdiff4,vmin4,vmax4}.{s32.s32.s32,u32.u32.u32}",
     "u32 u32 u32 -> u32"},
    {"{vadd2,vsub2,vavrg2,vabsdiff2,vmin2,vmax2}.{s32.s32.s32,u32.u32.u32}",
     "u32 u32 u32 -> u32"},
};

/// In the rows of all values both operands are the same.
constexpr Row pairRows[] = {
    {"cvt.rn{,.relu}.{f16x2,bf16x2}.f32", "f32 f32 -> u32"},
    {"cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32", "f32 f32 -> u16"},
};

/// What a row can not say: more than one instruction, immediates.
constexpr Row specialRows[] = {
    {"lop3.b32", "u32 u32 u32 -> u32",
     "lop3.b32 %y, %x0, %x1, %x2, 0x1b;\n"
     "lop3.b32 %y, %y, %x1, %x2, 0xe8;\nlop3.b32 %y, %x0, %y, %x2, 0x2d;\n"},
    {"add.cc and addc.u32", "u32 u32 u32 u32 -> u64",
     ".reg .b32 %t<2>;\nadd.cc.u32 %t0, %x0, %x2;\n"
     "addc.u32 %t1, %x1, %x3;\nmov.b64 %y, {%t0, %t1};\n"},
    {"sub.cc and subc.u32", "u32 u32 u32 u32 -> u64",
     ".reg .b32 %t<2>;\nsub.cc.u32 %t0, %x0, %x2;\n"
     "subc.u32 %t1, %x1, %x3;\nmov.b64 %y, {%t0, %t1};\n"},
    {"mad.lo.cc and madc.hi.u32", "u32 u32 u32 u32 -> u64",
     ".reg .b32 %t<2>;\nmad.lo.cc.u32 %t0, %x0, %x1, %x2;\n"
     "madc.hi.u32 %t1, %x0, %x1, %x3;\nmov.b64 %y, {%t0, %t1};\n"},
};
} // namespace

void tandem::hardware::addScalarProbes(std::vector<Probe> &probes) {
  const auto add = [&](const Row &row, const char *suffix) {
    for (const std::string &instruction : expandBraces(row.instruction)) {
      probes.push_back(scalarProbe(instruction, row.signature, row.operands));
      probes.back().name += suffix;
    }
  };
  for (const Row &row : exhaustiveRows)
    add(row, "");
  for (const Row &row : pairRows)
    add(row, " of two operands");
  for (const Row &row : randomRows)
    add(row, "");
  for (const Row &row : specialRows)
    add(row, "");
}
