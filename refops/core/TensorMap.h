//===- TensorMap.h - What a bulk tensor copy addresses ----------*- C++ -*-===//
//
// A tensor map (TMA descriptor) describes a tensor of 1 to 5 dims in global
// memory, the box of it that one copy moves, and how the box lies in shared
// memory. Its 128 bytes are opaque: each device encodes its own. The rules are
// those of cuTensorMapEncodeTiled, checked in one place so that all devices
// refuse the same maps.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_TENSORMAP_H
#define TANDEM_REFOPS_CORE_TENSORMAP_H

#include "refops/core/IntExpr.h"
#include "refops/core/Result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tandem {

inline constexpr size_t maxMapRank = 5;
inline constexpr size_t tensorMapBytes = 128;
inline constexpr size_t tensorMapAlign = 64;

/// The element type matters to reductions and to the fill of NaN. Values are
/// the driver's CUtensorMapDataType.
enum class MapType : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz,
};
/// Values are CUtensorMapSwizzle.
enum class MapSwizzle : uint8_t { None, B32, B64, B128 };
/// Values are CUtensorMapFloatOOBfill: what elements outside the tensor read.
enum class MapFill : uint8_t { Zero, Nan };
/// Values are CUtensorMapL2promotion; affects speed only.
enum class MapPromotion : uint8_t { None, L64, L128, L256 };

std::string_view mapTypeName(MapType type);
std::string_view mapSwizzleName(MapSwizzle swizzle);
std::string_view mapFillName(MapFill fill);
std::string_view mapPromotionName(MapPromotion promotion);
unsigned mapTypeBytes(MapType type);
/// Bytes of a row of the swizzle's pattern; 0 for none.
unsigned mapSwizzleBytes(MapSwizzle swizzle);

/// How a launch record makes a map from an operand. Dims are innermost first.
struct TensorMapSpec {
  MapType type = MapType::U8;
  std::vector<IntExpr> dims;       // elements
  std::vector<IntExpr> strides;    // bytes, of dims 1 and up
  std::vector<int> box;            // elements
  std::vector<int> elementStrides; // empty: all 1
  MapSwizzle swizzle = MapSwizzle::None;
  MapFill fill = MapFill::Zero;
  MapPromotion promotion = MapPromotion::None;
  bool operator==(const TensorMapSpec &) const = default;
};

/// A map with its numbers.
struct TensorMap {
  MapType type = MapType::U8;
  uint64_t address = 0;
  std::vector<uint64_t> dims;
  std::vector<uint64_t> strides;
  std::vector<uint32_t> box;
  std::vector<uint32_t> elementStrides;
  MapSwizzle swizzle = MapSwizzle::None;
  MapFill fill = MapFill::Zero;
  MapPromotion promotion = MapPromotion::None;

  size_t rank() const { return dims.size(); }
  /// Bytes that one copy of a whole box puts into shared memory.
  uint64_t boxBytes() const;
  bool operator==(const TensorMap &) const = default;
};

/// What is wrong with the map, if anything: `place: what`.
Result<void> checkTensorMap(const TensorMap &map, std::string_view place);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_TENSORMAP_H
