//===- RecipeInsn.h - Recipes as insn modules -------------------*- C++ -*-===//
//
// A recipe is one insn.fused op in a module: block arguments are inputs,
// yielded values are final outputs, every other result is a scratch value. A
// slot that the recipe numbers otherwise than in order of production keeps its
// number in a `slots` attribute, so that reading the text gives an equal
// recipe.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_RECIPE_RECIPEINSN_H
#define TANDEM_CODEGEN_RECIPE_RECIPEINSN_H

#include "dialect/insn/InsnDialect.h"
#include "refops/core/Recipe.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tandem::codegen {

/// Builds the module. The recipe is valid, so this cannot fail.
mlir::OwningOpRef<mlir::ModuleOp> buildInsn(const Recipe &recipe,
                                            mlir::MLIRContext &context);

/// Reads a verified insn.fused op and checks it as a recipe.
Result<Recipe> readInsn(insn::FusedOp fused, std::string_view file);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_RECIPE_RECIPEINSN_H
