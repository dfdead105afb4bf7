//===- TensorMap.cpp - What a bulk tensor copy addresses ------------------===//
#include "refops/core/TensorMap.h"

#include <array>

using namespace tandem;

namespace {
struct TypeInfo {
  std::string_view name;
  unsigned bytes;
};
constexpr std::array<TypeInfo, 13> types = {{{"u8", 1},
                                             {"u16", 2},
                                             {"u32", 4},
                                             {"s32", 4},
                                             {"u64", 8},
                                             {"s64", 8},
                                             {"f16", 2},
                                             {"f32", 4},
                                             {"f64", 8},
                                             {"bf16", 2},
                                             {"f32.ftz", 4},
                                             {"tf32", 4},
                                             {"tf32.ftz", 4}}};
} // namespace

std::string_view tandem::mapTypeName(MapType type) {
  return types[static_cast<size_t>(type)].name;
}
unsigned tandem::mapTypeBytes(MapType type) {
  return types[static_cast<size_t>(type)].bytes;
}
std::string_view tandem::mapSwizzleName(MapSwizzle swizzle) {
  static constexpr std::array<std::string_view, 4> names = {"none", "32B",
                                                            "64B", "128B"};
  return names[static_cast<size_t>(swizzle)];
}
std::string_view tandem::mapFillName(MapFill fill) {
  return fill == MapFill::Zero ? "zero" : "nan";
}
std::string_view tandem::mapPromotionName(MapPromotion promotion) {
  static constexpr std::array<std::string_view, 4> names = {"none", "64B",
                                                            "128B", "256B"};
  return names[static_cast<size_t>(promotion)];
}
unsigned tandem::mapSwizzleBytes(MapSwizzle swizzle) {
  return swizzle == MapSwizzle::None ? 0 : 16u << static_cast<int>(swizzle);
}

/// A box with element strides takes every n-th element: the count rounds up.
static uint64_t taken(uint32_t box, uint32_t stride) {
  return (box + stride - 1) / stride;
}

uint64_t TensorMap::boxBytes() const {
  uint64_t bytes = mapTypeBytes(type);
  for (size_t i = 0; i < box.size(); ++i)
    bytes *= taken(box[i], elementStrides[i]);
  return bytes;
}

Result<void> tandem::checkTensorMap(const TensorMap &map,
                                    std::string_view place) {
  const auto number = [](auto n) { return std::to_string(n); };
  const auto at = [&](const char *list, size_t i) {
    return std::string(list) + "[" + number(i) + "]";
  };
  const auto refuse = [&](const std::string &what) {
    return Result<void>(Error(std::string(place) + ": tensor map: " + what));
  };
  const size_t rank = map.rank();
  if (rank < 1 || rank > maxMapRank)
    return refuse("expected 1 to 5 dims, got " + number(rank));
  if (map.strides.size() != rank - 1 || map.box.size() != rank ||
      map.elementStrides.size() != rank)
    return refuse(number(rank) + " dims need " + number(rank - 1) +
                  " strides and a box of " + number(rank) + ", got " +
                  number(map.strides.size()) + " and " +
                  number(map.box.size()));
  if (map.address % 16)
    return refuse("the address is no multiple of 16 bytes");
  for (size_t i = 0; i < rank; ++i)
    if (map.dims[i] < 1 || map.dims[i] > uint64_t(1) << 32)
      return refuse(at("dims", i) + ": expected 1 to 2^32, got " +
                    number(map.dims[i]));
  for (size_t i = 0; i < rank - 1; ++i)
    if (map.strides[i] % 16 || map.strides[i] >= uint64_t(1) << 40)
      return refuse(at("strides", i) +
                    ": expected a multiple of 16 bytes below 2^40, got " +
                    number(map.strides[i]));
  for (size_t i = 0; i < rank; ++i) {
    if (map.box[i] < 1 || map.box[i] > 256)
      return refuse(at("box", i) + ": expected 1 to 256, got " +
                    number(map.box[i]));
    if (map.elementStrides[i] < 1 || map.elementStrides[i] > 8)
      return refuse(at("element_strides", i) + ": expected 1 to 8, got " +
                    number(map.elementStrides[i]));
  }
  const uint64_t inner = uint64_t(map.box[0]) * mapTypeBytes(map.type);
  if (inner % 16)
    return refuse("a row of the box has " + number(inner) +
                  " bytes, no multiple of 16");
  const unsigned swizzle = mapSwizzleBytes(map.swizzle);
  if (swizzle && inner > swizzle)
    return refuse("a row of the box has " + number(inner) + " bytes, the " +
                  std::string(mapSwizzleName(map.swizzle)) +
                  " swizzle allows " + number(swizzle));
  return {};
}
