//===- Staging.h - Host views on a device -----------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_CAPI_STAGING_H
#define TANDEM_CODEGEN_CAPI_STAGING_H

#include "codegen/device/Device.h"

namespace tandem::capi {

/// Device memory that mirrors host views for one call: same strides, 256-byte
/// aligned. Released with the object.
class Staging {
public:
  explicit Staging(Device &device) : device(device) {}
  ~Staging();
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;

  /// Copies \p view to the device. Strides of broadcast views are kept.
  Result<Operand> addInput(const View &view, const std::string &name);
  /// Memory for \p view with nothing in it (poison to a checking device).
  Result<Operand> addOutput(const View &view, const std::string &name);
  /// Copies the elements of \p operand to \p view, and nothing between them.
  Result<void> copyBack(const Operand &operand, const View &view);

private:
  Result<Operand> place(const View &view, const std::string &name);

  Device &device;
  std::vector<uint64_t> allocations;
};

} // namespace tandem::capi

#endif // TANDEM_CODEGEN_CAPI_STAGING_H
