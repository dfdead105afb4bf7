//===- RecipeBuilder.h - Well-typed steps from signatures -------*- C++ -*-===//
#ifndef TANDEM_HARNESS_GEN_RECIPEBUILDER_H
#define TANDEM_HARNESS_GEN_RECIPEBUILDER_H

#include "harness/case/Choices.h"
#include "refops/core/Recipe.h"

#include <optional>

namespace tandem::harness {

/// What a generator must know about an input to fill it.
struct InputUse {
  bool isReduced = false;
  /// Whether floats must be integers.
  bool isInteger = false;
  /// The dim that index values stay below; empty when they are no indices.
  std::string limitDim;
  int64_t limit = 0;
  /// Whether rows must start at multiples of 16 bytes.
  bool hasWideRows = false;
  /// Whether an index at or above the limit is an error that the kernel
  /// reports; otherwise no such value is made.
  bool mayBeOutside = true;
};

/// Grows a recipe step by step. Every dim is at the same time a symbol (or a
/// fixed number) of the recipe and a size of the call.
class RecipeBuilder {
public:
  /// \p elements: about how large the largest operand may be.
  RecipeBuilder(Choices &choices, int64_t elements, bool isAlone)
      : choices(choices), elements(elements), isAlone(isAlone) {}

  /// Adds a step for \p op. Its first operand is the newest value if there is
  /// one that fits, else a new input. Fails if no operand fits.
  Result<void> addStep(const OpInfo &op);

  /// Whether the newest value can be the first operand of \p op.
  bool canFollow(const OpInfo &op) const;

  /// Whether the newest value is a product.
  bool endsInProduct() const;

  /// Makes the newest result the output, and now and then an earlier one too.
  Result<Recipe> finish();

  const DimBindings &sizes() const { return dims; }
  const std::vector<InputUse> &uses() const { return inputUses; }

private:
  struct Value {
    ValueRef ref;
    TensorType type;
  };
  using Names = std::map<std::string, Dim>;

  Dim named(const std::string &name, int64_t size);
  Dim newDim(const std::string &name, int64_t limit, bool allowZero);
  int64_t sizeOf(const Dim &dim) const;
  int64_t sizeOf(const std::vector<Dim> &shape) const;
  Value newInput(const std::string &name, TensorType type, InputUse use,
                 bool isState = false);
  const Signature &drawSignature(const OpInfo &op);
  static bool fits(const OpInfo &op, const Signature &signature,
                   const TensorType &first);
  /// The dim as \p names and \p sizes have it.
  Dim dimOf(const std::string &formal, const Names &names) const;
  /// Gives params that may be read on the device a new input, now and then.
  void moveParamsToDevice(const OpInfo &op, const Names &names, Step &step,
                          std::vector<TensorType> &types);
  /// A product that the asynchronous kernels take: f16 or bf16 matrices in
  /// rows of whole 16-byte units, sizes at and around the edges of their tiles.
  Result<void> addWideProduct(const OpInfo &op);
  /// Infers the step's result and adds it.
  Result<void> push(const OpInfo &op, Step step,
                    const std::vector<TensorType> &types,
                    std::optional<DType> outDtype);
  DType drawDType(std::string_view dtypeClass, std::optional<DType> first);
  void bindDims(const OpInfo &op, const Signature &signature, Names &names,
                std::optional<std::vector<Dim>> &lead);
  std::vector<Dim> broadcastPart(const std::vector<Dim> &shape);

  Choices &choices;
  int64_t elements;
  bool isAlone;
  Recipe recipe;
  DimBindings dims;
  std::vector<InputUse> inputUses;
  std::vector<Value> results;
};

} // namespace tandem::harness

#endif // TANDEM_HARNESS_GEN_RECIPEBUILDER_H
