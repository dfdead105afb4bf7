//===- RecipeToInsn.cpp - From a recipe to insn ---------------------------===//
#include "codegen/Compiler.h"
#include "codegen/recipe/RecipeInsn.h"
#include "codegen/tile/Context.h"

using namespace mlir;
using namespace tandem;

static Operation *buildStep(OpBuilder &builder, const Step &step,
                            ArrayRef<Value> args) {
  MLIRContext *context = builder.getContext();
  OperationState state(builder.getUnknownLoc(),
                       "insn." + std::string(opInfo(step.op).mnemonic));
  state.addOperands(args);
  for (const tandem::TensorType &type : step.results)
    state.addTypes(insn::mlirTypeOf(type, context));
  state.addAttributes(insn::attributesOf(step.params, context).getValue());
  return builder.create(state);
}

OwningOpRef<ModuleOp> codegen::buildInsn(const Recipe &recipe,
                                         MLIRContext &context) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());

  SmallVector<StringRef> inputs, outputs, states;
  for (const RecipeInput &input : recipe.inputs) {
    inputs.push_back(input.name);
    if (input.isState)
      states.push_back(input.name);
  }
  for (const RecipeOutput &output : recipe.outputs)
    outputs.push_back(output.name);
  auto fused = insn::FusedOp::create(
      builder, loc, TypeRange(), builder.getStringAttr(recipe.name),
      builder.getStrArrayAttr(inputs), builder.getStrArrayAttr(outputs),
      states.empty() ? ArrayAttr() : builder.getStrArrayAttr(states));
  Block *body = builder.createBlock(&fused.getBody());
  for (const RecipeInput &input : recipe.inputs)
    body->addArgument(insn::mlirTypeOf(input.type, &context), loc);

  std::map<int, Value> scratch;
  SmallVector<Value> finals(recipe.outputs.size());
  int nextSlot = 0;
  for (const Step &step : recipe.steps) {
    SmallVector<Value> args;
    for (const ValueRef &arg : step.args)
      args.push_back(arg.kind == ValueRef::Kind::Input
                         ? Value(body->getArgument(arg.index))
                         : scratch.at(arg.index));
    Operation *op = buildStep(builder, step, args);
    SmallVector<int64_t> slots;
    bool isInOrder = true;
    for (auto [i, out] : llvm::enumerate(step.outs)) {
      if (out.kind == ValueRef::Kind::Final) {
        finals[out.index] = op->getResult(i);
        slots.push_back(-1);
        continue;
      }
      isInOrder &= out.index == nextSlot++;
      slots.push_back(out.index);
      scratch[out.index] = op->getResult(i);
    }
    if (!isInOrder)
      op->setAttr("slots", builder.getDenseI64ArrayAttr(slots));
  }
  insn::YieldOp::create(builder, loc, finals);
  return module;
}

Result<std::string> tandem::recipeToInsn(const Recipe &recipe) {
  MLIRContext &context = codegen::threadContext();
  OwningOpRef<ModuleOp> module = codegen::buildInsn(recipe, context);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text + "\n";
}
