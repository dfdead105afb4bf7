//===- RecipeFromInsn.cpp - From insn to a recipe -------------------------===//
#include "codegen/Compiler.h"
#include "codegen/recipe/RecipeInsn.h"
#include "codegen/tile/Context.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tandem;

/// Where the results of \p op go: yielded values are final outputs, others take
/// the number in `slots` or the next one.
static Result<std::vector<ValueRef>> outsOf(Operation &op, int &nextSlot) {
  auto slots = op.getAttrOfType<DenseI64ArrayAttr>("slots");
  if (slots && slots.size() != op.getNumResults())
    return Error("slots: expected " + std::to_string(op.getNumResults()) +
                 " numbers, got " + std::to_string(slots.size()));
  std::vector<ValueRef> outs;
  for (OpResult result : op.getResults()) {
    for (OpOperand &use : result.getUses())
      if (isa<insn::YieldOp>(use.getOwner()))
        outs.push_back(
            {ValueRef::Kind::Final, static_cast<int>(use.getOperandNumber())});
    if (outs.size() > result.getResultNumber())
      continue;
    int slot = nextSlot++;
    if (slots)
      slot = static_cast<int>(slots[result.getResultNumber()]);
    outs.push_back({ValueRef::Kind::Scratch, slot});
  }
  return outs;
}

Result<Recipe> codegen::readInsn(insn::FusedOp fused, std::string_view file) {
  std::string place = std::string(file) + ": ";
  Recipe recipe;
  recipe.name = fused.getRecipe().str();
  std::map<void *, ValueRef> refs;
  Block &body = fused.getBody().front();
  auto states = fused.getStatesAttr();
  for (BlockArgument arg : body.getArguments()) {
    int index = static_cast<int>(arg.getArgNumber());
    Result<tandem::TensorType> type = insn::tensorTypeOf(arg.getType());
    if (!type)
      return Error(place + "input " + std::to_string(index) + ": " +
                   type.error().text());
    auto name = cast<StringAttr>(fused.getInputs()[index]);
    bool isState = states && llvm::is_contained(states, name);
    recipe.inputs.push_back({name.str(), type.take(), isState});
    refs[arg.getAsOpaquePointer()] = {ValueRef::Kind::Input, index};
  }
  int nextSlot = 0;
  for (Operation &op : body.without_terminator()) {
    std::string where =
        place + "steps[" + std::to_string(recipe.steps.size()) + "]: ";
    Step step;
    step.op = insn::infoOf(&op).code;
    for (Value operand : op.getOperands())
      step.args.push_back(refs.at(operand.getAsOpaquePointer()));
    Result<Params> params = insn::paramsOf(&op);
    if (!params)
      return Error(where + params.error().text());
    step.params = params.take();
    Result<std::vector<ValueRef>> outs = outsOf(op, nextSlot);
    if (!outs)
      return Error(where + outs.error().text());
    step.outs = outs.take();
    for (OpResult result : op.getResults()) {
      Result<tandem::TensorType> type = insn::tensorTypeOf(result.getType());
      if (!type)
        return Error(where + type.error().text());
      step.results.push_back(type.take());
      refs[result.getAsOpaquePointer()] = step.outs[result.getResultNumber()];
    }
    recipe.steps.push_back(std::move(step));
  }
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    Result<tandem::TensorType> type = insn::tensorTypeOf(value.getType());
    if (!type)
      return Error(place + "output " + std::to_string(i) + ": " +
                   type.error().text());
    recipe.outputs.push_back(
        {cast<StringAttr>(fused.getOutputs()[i]).str(), type.take()});
  }
  return checkRecipe(std::move(recipe), file);
}

Result<Recipe> tandem::recipeFromInsn(std::string_view mlir,
                                      std::string_view file) {
  MLIRContext &context = codegen::threadContext();
  Error errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (auto loc = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
      stream << loc.getFilename().getValue() << ":" << loc.getLine() << ":"
             << loc.getColumn() << ": ";
    else
      stream << std::string(file) << ": ";
    stream << diagnostic.str();
    errors.messages.push_back(std::move(message));
    return success();
  });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(mlir, std::string(file)),
      llvm::SMLoc());
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, config);
  if (!module)
    return errors;
  auto recipes = llvm::to_vector(module->getOps<insn::FusedOp>());
  if (recipes.size() != 1)
    return Error(std::string(file) + ": expected one insn.fused, got " +
                 std::to_string(recipes.size()));
  return codegen::readInsn(recipes[0], file);
}
