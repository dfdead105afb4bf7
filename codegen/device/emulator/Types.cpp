//===- Types.cpp - PTX operand types --------------------------------------===//
#include "codegen/device/emulator/Types.h"

#include <cstdio>

using namespace tandem::emulator;

namespace {
struct NamedType {
  std::string_view name;
  Type type;
  unsigned size;
};
constexpr NamedType types[] = {
    {".pred", Type::Pred, 0},     {".b8", Type::B8, 1},
    {".b16", Type::B16, 2},       {".b32", Type::B32, 4},
    {".b64", Type::B64, 8},       {".b128", Type::B128, 16},
    {".u8", Type::U8, 1},         {".u16", Type::U16, 2},
    {".u32", Type::U32, 4},       {".u64", Type::U64, 8},
    {".s8", Type::S8, 1},         {".s16", Type::S16, 2},
    {".s32", Type::S32, 4},       {".s64", Type::S64, 8},
    {".f16", Type::F16, 2},       {".f16x2", Type::F16x2, 4},
    {".bf16", Type::BF16, 2},     {".bf16x2", Type::BF16x2, 4},
    {".f32", Type::F32, 4},       {".f64", Type::F64, 8},
    {".e4m3x2", Type::E4M3x2, 2}, {".e5m2x2", Type::E5M2x2, 2},
    {".tf32", Type::TF32, 4},     {".f32x2", Type::F32x2, 8},
};
} // namespace

Type tandem::emulator::typeNamed(std::string_view name) {
  for (const NamedType &known : types)
    if (known.name == name)
      return known.type;
  return Type::None;
}

unsigned tandem::emulator::typeSize(Type type) {
  for (const NamedType &known : types)
    if (known.type == type)
      return known.size;
  return 0;
}

std::string tandem::emulator::hex(uint64_t value) {
  char buffer[20];
  std::snprintf(buffer, sizeof buffer, "0x%llx",
                static_cast<unsigned long long>(value));
  return buffer;
}
