//===- Registration.h - Every dialect and pass of tandem --------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_REGISTRATION_H
#define TANDEM_CODEGEN_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tandem {

/// Adds tandem's dialects, and those that its stages are written in.
void registerAllTandem(mlir::DialectRegistry &registry);

/// Makes tandem's passes known to textual pass pipelines.
void registerTandemPasses();

} // namespace tandem

#endif // TANDEM_CODEGEN_REGISTRATION_H
