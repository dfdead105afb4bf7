//===- VerifyBySignature.cpp - One verifier for all instructions ----------===//
#include "dialect/insn/InsnDialect.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::insn;

const OpInfo &insn::infoOf(Operation *op) {
  const OpInfo *info = findOpInfo(op->getName().stripDialect());
  assert(info && "the op table and the dialect come from one file");
  return *info;
}

/// Core's messages begin with the op's name, which emitOpError gives already.
static LogicalResult report(Operation *op, const Error &error) {
  std::string prefix = op->getName().stripDialect().str() + ": ";
  for (const std::string &message : error.messages) {
    StringRef text = message;
    text.consume_front(prefix);
    op->emitOpError() << text;
  }
  return failure();
}

LogicalResult insn::verifyBySignature(Operation *op) {
  const OpInfo &info = infoOf(op);
  std::vector<tandem::TensorType> operands;
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    Result<tandem::TensorType> converted = tensorTypeOf(type);
    if (!converted)
      return op->emitOpError()
             << "operand " << i << ": " << converted.error().text();
    operands.push_back(converted.take());
  }
  Result<Params> params = paramsOf(op);
  if (!params)
    return report(op, params.error());
  if (Result<void> checked = checkParams(info, *params); !checked)
    return report(op, checked.error());

  std::vector<tandem::TensorType> declared;
  for (auto [i, type] : llvm::enumerate(op->getResultTypes())) {
    Result<tandem::TensorType> converted = tensorTypeOf(type);
    if (!converted)
      return op->emitOpError()
             << "result " << i << ": " << converted.error().text();
    declared.push_back(converted.take());
  }
  std::optional<std::vector<Dim>> outShape;
  std::optional<DType> outDtype;
  if (declared.size() == 1) {
    outShape = declared[0].shape;
    outDtype = declared[0].dtype;
  }
  Result<std::vector<tandem::TensorType>> inferred =
      inferResults(info, operands, *params, outShape, outDtype);
  if (!inferred)
    return report(op, inferred.error());
  if (inferred->size() != declared.size())
    return op->emitOpError() << "expected " << inferred->size()
                             << " results, got " << declared.size();
  for (auto [i, pair] : llvm::enumerate(llvm::zip(*inferred, declared))) {
    auto &[expected, actual] = pair;
    if (expected != actual)
      return op->emitOpError()
             << "result " << i << ": expected " << expected.describe()
             << ", got " << actual.describe();
  }
  return success();
}
