//===- LaunchRecord.h - How to launch a PTX kernel --------------*- C++ -*-===//
//
// Plain data that rides with the PTX text: operands, arguments, grid, block,
// preconditions and numerics contract. Everything that depends on a call is an
// IntExpr over the symbols
//
//   NAME.shape[i]  NAME.stride[i]  (elements)   NAME.align  (largest power of
//   two, at most 256, that divides NAME's address in bytes)
//
// where NAME is an operand of the record. A dispatcher evaluates the
// preconditions on every call and never launches when one is 0.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_LAUNCHRECORD_H
#define TANDEM_REFOPS_CORE_LAUNCHRECORD_H

#include "refops/core/Contract.h"
#include "refops/core/IntExpr.h"
#include "refops/core/Tensor.h"
#include "refops/core/TensorMap.h"

#include <array>
#include <string>
#include <vector>

namespace tandem {

struct RecordOperand {
  enum class Role : uint8_t { In, Out, State };
  std::string name;
  DType dtype = DType::F32;
  int rank = 0;
  Role role = Role::In;
  bool operator==(const RecordOperand &) const = default;
};

/// One kernel parameter, in the order of the PTX `.param` list.
struct KernelArg {
  enum class Kind : uint8_t {
    Pointer,   // 64-bit address of `operand`
    I32,       // `value`
    I64,       // `value`
    ErrorSlot, // 64-bit address of the launch's error slot
    Workspace, // 64-bit address of `value` zeroed bytes
    TensorMap, // 128 bytes that describe `operand` as `map` says
  };
  Kind kind = Kind::Pointer;
  int operand = -1;
  IntExpr value = {};
  TensorMapSpec map = {};
  bool operator==(const KernelArg &) const = default;
};

struct LaunchRecord {
  /// Entry point in the PTX text.
  std::string kernel;
  /// sm_80 or sm_90a.
  std::string target;
  std::vector<RecordOperand> operands;
  std::vector<KernelArg> args;
  /// CTAs a dim; a launch with a 0 in it is a no-op.
  std::array<IntExpr, 3> grid = {IntExpr(1), IntExpr(1), IntExpr(1)};
  std::array<int, 3> block = {1, 1, 1};
  std::array<int, 3> cluster = {1, 1, 1};
  /// Bytes of dynamic shared memory (static shared memory is in the PTX).
  int64_t sharedBytes = 0;
  /// Conditions that must be non-zero, each with the reason in words.
  struct Precondition {
    IntExpr condition;
    std::string reason;
    bool operator==(const Precondition &) const = default;
  };
  std::vector<Precondition> preconditions;
  /// Whether the kernel may begin before the launch before it has ended, and
  /// waits for that itself (griddepcontrol.wait).
  bool programmatic = false;
  /// Whether CTAs exchange data; if not, a device may run them in parallel.
  bool ctasCommunicate = false;
  Contract contract;

  bool operator==(const LaunchRecord &) const = default;
};

std::string writeLaunchRecord(const LaunchRecord &record);
Result<LaunchRecord> readLaunchRecord(std::string_view json,
                                      std::string_view file);

/// A record evaluated for one call.
struct BoundLaunch {
  std::array<int64_t, 3> grid = {1, 1, 1};
  /// Argument values in order; ErrorSlot and Workspace entries are filled in by
  /// the device.
  std::vector<uint64_t> args;
  /// The maps of TensorMap arguments; `args` has the index of each.
  std::vector<TensorMap> maps;
  int64_t workspaceBytes = 0;
  /// The byte ranges that the kernel may touch, one an operand.
  bool isNoOp() const { return !grid[0] || !grid[1] || !grid[2]; }
};

/// Bytes of a parameter, and its alignment.
struct ParamSize {
  uint64_t bytes, align;
};
inline ParamSize paramSize(const KernelArg &arg) {
  switch (arg.kind) {
  case KernelArg::Kind::I32:
    return {4, 4};
  case KernelArg::Kind::TensorMap:
    return {tensorMapBytes, tensorMapAlign};
  default:
    return {8, 8};
  }
}

/// Evaluates grid and arguments. Fails, naming the reason, when an operand's
/// dtype or rank differs from the record's, when a precondition does not hold,
/// or when the grid exceeds the hardware's limits (2^31-1, 65535, 65535).
Result<BoundLaunch> bindLaunch(const LaunchRecord &record,
                               const std::vector<Operand> &operands);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_LAUNCHRECORD_H
