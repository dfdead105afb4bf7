//===- Types.cpp - Types and params between core and MLIR -----------------===//
#include "dialect/insn/InsnDialect.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::insn;

Type insn::mlirTypeOf(DType type, MLIRContext *context) {
  switch (type) {
  case DType::F32:
    return Float32Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::F8E4M3:
    return Float8E4M3FNType::get(context);
  case DType::F8E5M2:
    return Float8E5M2Type::get(context);
  case DType::F64:
    return Float64Type::get(context);
  case DType::I32:
    return IntegerType::get(context, 32);
  case DType::I64:
    return IntegerType::get(context, 64);
  case DType::I8:
    return IntegerType::get(context, 8);
  case DType::U8:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case DType::I4:
    break;
  }
  llvm_unreachable("int4 is never a tensor's type");
}

RankedTensorType insn::mlirTypeOf(const tandem::TensorType &type,
                                  MLIRContext *context) {
  SmallVector<int64_t> shape;
  SmallVector<Attribute> dims;
  bool isSymbolic = false;
  for (const Dim &dim : type.shape) {
    isSymbolic |= dim.isSymbol();
    shape.push_back(dim.isSymbol() ? ShapedType::kDynamic : dim.size());
    dims.push_back(
        dim.isSymbol()
            ? Attribute(StringAttr::get(context, dim.symbol()))
            : IntegerAttr::get(IntegerType::get(context, 64), dim.size()));
  }
  return RankedTensorType::get(shape, mlirTypeOf(type.dtype, context),
                               isSymbolic ? DimsAttr::get(context, dims)
                                          : Attribute());
}

Result<tandem::TensorType> insn::tensorTypeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return Error("expected a ranked tensor");
  tandem::TensorType converted;
  bool isKnown = false;
  for (DType dtype :
       {DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2,
        DType::F64, DType::I32, DType::I64, DType::I8, DType::U8})
    if (mlirTypeOf(dtype, type.getContext()) == tensor.getElementType()) {
      converted.dtype = dtype;
      isKnown = true;
    }
  if (!isKnown)
    return Error("no dtype of the instruction set is its element type");
  auto names = dyn_cast_or_null<DimsAttr>(tensor.getEncoding());
  for (auto [i, size] : llvm::enumerate(tensor.getShape())) {
    if (!ShapedType::isDynamic(size)) {
      converted.shape.emplace_back(size);
      continue;
    }
    if (!names)
      return Error("dim " + std::to_string(i) +
                   " is '?' and has no name: add #insn.dims");
    converted.shape.emplace_back(
        cast<StringAttr>(names.getDims()[i]).getValue().str());
  }
  return converted;
}

Result<Params> insn::paramsOf(Operation *op) {
  Params params;
  for (NamedAttribute named : op->getAttrs()) {
    std::string name = named.getName().str();
    Attribute value = named.getValue();
    if (name == "slots")
      continue;
    if (auto flag = dyn_cast<BoolAttr>(value))
      params.values[name] = flag.getValue();
    else if (auto operand = dyn_cast<IntegerAttr>(value);
             operand && operand.getType().isIndex())
      params.values[name] = OperandParam{operand.getInt()};
    else if (auto number = dyn_cast<IntegerAttr>(value))
      params.values[name] = number.getInt();
    else if (auto real = dyn_cast<FloatAttr>(value))
      params.values[name] = real.getValueAsDouble();
    else if (auto text = dyn_cast<StringAttr>(value))
      params.values[name] = text.str();
    else
      return Error("attribute '" + name +
                   "': expected a bool, integer, float or string");
  }
  return params;
}

DictionaryAttr insn::attributesOf(const Params &params, MLIRContext *context) {
  Builder builder(context);
  NamedAttrList attributes;
  for (const auto &[name, value] : params.values) {
    if (const bool *flag = std::get_if<bool>(&value))
      attributes.append(name, builder.getBoolAttr(*flag));
    else if (const int64_t *number = std::get_if<int64_t>(&value))
      attributes.append(name, builder.getI64IntegerAttr(*number));
    else if (const std::optional<size_t> operand = params.operandOf(name))
      attributes.append(name,
                        builder.getIndexAttr(static_cast<int64_t>(*operand)));
    else if (const double *real = std::get_if<double>(&value))
      attributes.append(name, builder.getF64FloatAttr(*real));
    else
      attributes.append(name,
                        builder.getStringAttr(std::get<std::string>(value)));
  }
  return attributes.getDictionary(context);
}
