//===- InsnAttrs.cpp - #insn.dims: syntax and agreement with the shape ----===//
#include "dialect/insn/InsnDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tandem::insn;

#define GET_ATTRDEF_CLASSES
#include "dialect/insn/InsnAttrs.cpp.inc"

void InsnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/insn/InsnAttrs.cpp.inc"
      >();
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<Attribute> dims;
  Type i64 = parser.getBuilder().getI64Type();
  auto parseDim = [&]() -> ParseResult {
    int64_t size;
    OptionalParseResult number = parser.parseOptionalInteger(size);
    if (number.has_value()) {
      if (failed(*number))
        return failure();
      dims.push_back(IntegerAttr::get(i64, size));
      return success();
    }
    std::string name;
    if (parser.parseString(&name))
      return failure();
    dims.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseDim))
    return {};
  return get(parser.getContext(), dims);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getDims(), printer, [&](Attribute dim) {
    if (auto size = dyn_cast<IntegerAttr>(dim))
      printer << size.getInt();
    else
      printer << dim;
  });
  printer << '>';
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size())
    return emitError() << "#insn.dims: expected " << shape.size()
                       << " dims as in the shape, got " << getDims().size();
  for (auto [i, pair] : llvm::enumerate(llvm::zip(shape, getDims()))) {
    auto [size, dim] = pair;
    auto number = dyn_cast<IntegerAttr>(dim);
    if (ShapedType::isDynamic(size)) {
      if (number)
        return emitError() << "#insn.dims: dim " << i
                           << " is '?' in the shape, expected a symbol, got "
                           << number.getInt();
    } else if (!number || number.getInt() != size) {
      InFlightDiagnostic message = emitError();
      message << "#insn.dims: dim " << i << ": expected " << size
              << " as in the shape, got ";
      if (number)
        message << number.getInt();
      else
        message << dim;
      return message;
    }
  }
  return success();
}
