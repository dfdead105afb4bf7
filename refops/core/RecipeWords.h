//===- RecipeWords.h - The words that recipes and plans share ---*- C++ -*-===//
#ifndef TANDEM_REFOPS_CORE_RECIPEWORDS_H
#define TANDEM_REFOPS_CORE_RECIPEWORDS_H

#include "refops/core/JsonText.h"
#include "refops/core/OpInfo.h"
#include "refops/core/Params.h"
#include "refops/core/Signature.h"

namespace tandem {

/// The dtype that \p member names; reports what is none.
std::optional<DType> dtypeIn(JsonObject &object, std::string_view member,
                             Messages &messages);

/// The op in \p j at \p place: a name in either case, or a code; null after a
/// message.
const OpInfo *opIn(const nlohmann::json &j, const std::string &place,
                   Messages &messages);

/// A param's value, or nothing where \p value is no bool, number or string. A
/// number where a float is declared is a float however it is written, and types
/// of quantised weights may be given by their codes.
std::optional<ParamValue> paramIn(const OpInfo *op, std::string_view name,
                                  const nlohmann::json &value);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_RECIPEWORDS_H
