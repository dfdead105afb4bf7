//===- InsnDialect.h - The instruction set as an MLIR dialect ---*- C++ -*-===//
//
// Classes generated from InsnOps.td, and the bridge between MLIR types and
// attributes and the plain data of refops/core.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_DIALECT_INSN_INSNDIALECT_H
#define TANDEM_DIALECT_INSN_INSNDIALECT_H

#include "refops/core/Params.h"
#include "refops/core/Signature.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/insn/InsnDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/insn/InsnAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialect/insn/InsnOps.h.inc"

namespace tandem::insn {

/// Checks operands, results and attributes of an op with the rules that recipes
/// obey (refops/core/Signature.h), so that both refuse the same things.
llvm::LogicalResult verifyBySignature(mlir::Operation *op);

/// The op's entry in the table.
const OpInfo &infoOf(mlir::Operation *op);

/// The op's attributes as params. Fails on an attribute that no param can be.
Result<Params> paramsOf(mlir::Operation *op);

/// Attributes for \p params: bool, i64, f64 or string.
mlir::DictionaryAttr attributesOf(const Params &params,
                                  mlir::MLIRContext *context);

/// The type as recipes write it. Fails on an element type that none has.
Result<TensorType> tensorTypeOf(mlir::Type type);

/// The builtin tensor type, with #insn.dims when a dim is a symbol.
mlir::RankedTensorType mlirTypeOf(const TensorType &type,
                                  mlir::MLIRContext *context);
mlir::Type mlirTypeOf(DType type, mlir::MLIRContext *context);

} // namespace tandem::insn

#endif // TANDEM_DIALECT_INSN_INSNDIALECT_H
