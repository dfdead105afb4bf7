//===- JsonText.h - JSON that somebody else wrote ---------------*- C++ -*-===//
//
// Reading untrusted JSON: parse errors, duplicate keys and deep nesting become
// messages with their place, and members are fetched with their type checked.
// Nothing here throws.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_JSONTEXT_H
#define TANDEM_REFOPS_CORE_JSONTEXT_H

#include "refops/core/Result.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// Nested arrays and objects that a document may have; ours need 8.
inline constexpr size_t maxJsonDepth = 64;

/// Parses \p text. Refuses duplicate keys, which most parsers resolve silently
/// and differently, and numbers that no double holds.
Result<nlohmann::json> parseJson(std::string_view text, std::string_view file);

/// Collects messages `file: place: what`, or `file: what` where \p place is
/// empty. A document of many megabytes can have millions of errors, so it keeps
/// the first 1,000 and counts the rest.
class Messages {
public:
  explicit Messages(std::string_view file) : file(file) {}
  void add(const std::string &place, const std::string &what);
  bool empty() const { return all.empty(); }
  size_t size() const { return all.size() + dropped; }
  Error error() const;

private:
  std::string file;
  std::vector<std::string> all;
  size_t dropped = 0;
};

/// `place.member`, or `member` in the document itself.
std::string memberOf(std::string_view place, std::string_view member);

/// What \p j is, for messages: `the string 'x'`, `true`, `an array`, `1.5`.
std::string describeJson(const nlohmann::json &j);

/// A JSON object at \p place (empty: the document) whose members are all known.
/// Getters report a missing or mistyped member and give nothing.
class JsonObject {
public:
  /// Reports \p j if it is no object, and each member that is not in \p known.
  JsonObject(const nlohmann::json &j, std::string place,
             std::span<const std::string_view> known, Messages &messages);

  bool isValid() const { return object != nullptr; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The member, or null.
  const nlohmann::json *find(std::string_view name) const;
  std::string placeOf(std::string_view name) const {
    return memberOf(place, name);
  }

  std::optional<std::string> getString(std::string_view name);
  std::optional<int64_t> getInt(std::string_view name);
  std::optional<bool> getBool(std::string_view name);
  /// An array, or null.
  const nlohmann::json *getArray(std::string_view name);

private:
  /// The member; reports it if it is missing.
  const nlohmann::json *require(std::string_view name);

  const nlohmann::json *object = nullptr;
  std::string place;
  Messages &messages;
};

/// The integer in \p j, unless it is a bool, a fraction or beyond 64 bits.
std::optional<int64_t> integerIn(const nlohmann::json &j);

/// `place[index]`.
std::string indexed(std::string_view place, size_t index);

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_JSONTEXT_H
