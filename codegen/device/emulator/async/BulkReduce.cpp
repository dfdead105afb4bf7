//===- BulkReduce.cpp - Reductions of bulk copies -------------------------===//
#include "codegen/device/emulator/Rounding.h"
#include "codegen/device/emulator/async/BulkCopy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace tandem;
using namespace tandem::emulator;

template <typename T>
static T reduceInteger(BulkReduce op, T old, T value) {
  using Unsigned = std::make_unsigned_t<T>;
  auto a = static_cast<Unsigned>(old), b = static_cast<Unsigned>(value);
  switch (op) {
  case BulkReduce::Add:
    return static_cast<T>(a + b);
  case BulkReduce::Min:
    return std::min(old, value);
  case BulkReduce::Max:
    return std::max(old, value);
  case BulkReduce::Inc:
    return static_cast<T>(a >= b ? 0 : a + 1);
  case BulkReduce::Dec:
    return static_cast<T>(a == 0 || a > b ? b : a - 1);
  case BulkReduce::And:
    return static_cast<T>(a & b);
  case BulkReduce::Or:
    return static_cast<T>(a | b);
  case BulkReduce::Xor:
    return static_cast<T>(a ^ b);
  case BulkReduce::None:
    break;
  }
  return value;
}

template <typename T>
static T reduceFloat(BulkReduce op, T old, T value) {
  if (op == BulkReduce::Add)
    return canonical(old + value);
  if (old != old)
    return value;
  if (value != value)
    return old;
  return (op == BulkReduce::Min) == (value < old) ? value : old;
}

/// Halves are added in f32, exactly, and rounded once.
template <bool Bfloat>
static uint16_t reduceHalf(BulkReduce op, uint16_t old, uint16_t value) {
  auto widen = [](uint16_t bits) {
    return Bfloat ? bfloatToFloat(bits) : halfToFloat(bits);
  };
  if (op == BulkReduce::Add)
    return Bfloat ? toBfloat(addOdd(widen(old), widen(value)))
                  : toHalf(addOdd(widen(old), widen(value)));
  float result = reduceFloat(op, widen(old), widen(value));
  return bitsOf(result) == bitsOf(widen(old)) ? old : value;
}

template <typename T, typename F>
static void apply(char *target, const char *source, uint64_t count, F f) {
  for (uint64_t i = 0; i < count; ++i) {
    T old, value;
    std::memcpy(&old, target + i * sizeof(T), sizeof(T));
    std::memcpy(&value, source + i * sizeof(T), sizeof(T));
    T result = f(old, value);
    std::memcpy(target + i * sizeof(T), &result, sizeof(T));
  }
}

void emulator::reduceElements(BulkReduce op, MapType type, char *target,
                              const char *source, uint64_t count) {
  if (op == BulkReduce::None) {
    std::memcpy(target, source, count * mapTypeBytes(type));
    return;
  }
  auto integers = [&]<typename T>() {
    apply<T>(target, source, count,
             [=](T a, T b) { return reduceInteger<T>(op, a, b); });
  };
  auto floats = [&]<typename T>() {
    apply<T>(target, source, count,
             [=](T a, T b) { return reduceFloat<T>(op, a, b); });
  };
  switch (type) {
  case MapType::U8:
    return integers.template operator()<uint8_t>();
  case MapType::U16:
    return integers.template operator()<uint16_t>();
  case MapType::U32:
    return integers.template operator()<uint32_t>();
  case MapType::S32:
    return integers.template operator()<int32_t>();
  case MapType::U64:
    return integers.template operator()<uint64_t>();
  case MapType::S64:
    return integers.template operator()<int64_t>();
  case MapType::F16:
    return apply<uint16_t>(target, source, count, [=](uint16_t a, uint16_t b) {
      return reduceHalf<false>(op, a, b);
    });
  case MapType::BF16:
    return apply<uint16_t>(target, source, count, [=](uint16_t a, uint16_t b) {
      return reduceHalf<true>(op, a, b);
    });
  case MapType::F64:
    return floats.template operator()<double>();
  default:
    return floats.template operator()<float>();
  }
}

BulkReduce emulator::reduceNamed(const std::vector<std::string_view> &parts) {
  static constexpr std::string_view names[] = {
      "", ".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"};
  for (size_t i = 1; i < std::size(names); ++i)
    if (std::find(parts.begin(), parts.end(), names[i]) != parts.end())
      return static_cast<BulkReduce>(i);
  return BulkReduce::None;
}

MapType emulator::elementNamed(std::string_view name) {
  static constexpr std::pair<std::string_view, MapType> names[] = {
      {".b32", MapType::U32}, {".u32", MapType::U32},   {".s32", MapType::S32},
      {".b64", MapType::U64}, {".u64", MapType::U64},   {".s64", MapType::S64},
      {".f16", MapType::F16}, {".bf16", MapType::BF16}, {".f32", MapType::F32},
      {".f64", MapType::F64}};
  for (const auto &[known, type] : names)
    if (known == name)
      return type;
  return MapType::U8;
}
