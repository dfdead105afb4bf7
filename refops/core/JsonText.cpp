//===- JsonText.cpp - JSON that somebody else wrote -----------------------===//
#include "refops/core/JsonText.h"

#include "refops/core/Spelling.h"

#include <algorithm>
#include <limits>

using namespace tandem;
using nlohmann::json;

namespace {
/// Builds the document, and stops at the first event that cannot be part of
/// one. Values are linked into their parents as they arrive, so nesting costs
/// no stack.
class Builder final : public nlohmann::json_sax<json> {
public:
  json root;
  std::string problem;
  std::vector<std::string> duplicates;
  size_t problemOffset = std::string::npos;

  bool null() override { return addValue(nullptr); }
  bool boolean(bool value) override { return addValue(value); }
  bool number_integer(number_integer_t value) override {
    return addValue(value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return addValue(value);
  }
  bool number_float(number_float_t value, const string_t &) override {
    return addValue(value);
  }
  bool string(string_t &value) override { return addValue(std::move(value)); }
  bool binary(binary_t &) override { return false; }
  bool start_object(size_t) override { return open(json::object()); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &name) override {
    json &object = *parents.back();
    if (object.contains(name))
      duplicates.push_back(name);
    slot = &object[name];
    return true;
  }

  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &error) override {
    problemOffset = position;
    // The library's text names itself and the position first; keep the rest.
    const std::string_view text = error.what();
    const size_t dash = text.find(" - ");
    if (error.id == 406)
      problem = "a number is too large for a double";
    else if (dash != std::string_view::npos)
      problem = text.substr(dash + 3);
    else
      problem = text;
    return false;
  }

private:
  json *place(json value) {
    if (parents.empty()) {
      root = std::move(value);
      return &root;
    }
    if (parents.back()->is_array()) {
      parents.back()->push_back(std::move(value));
      return &parents.back()->back();
    }
    *slot = std::move(value);
    return slot;
  }

  bool addValue(json value) {
    place(std::move(value));
    return true;
  }

  bool open(json container) {
    if (parents.size() == maxJsonDepth) {
      problem = "arrays and objects are nested deeper than " +
                std::to_string(maxJsonDepth);
      return false;
    }
    parents.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    parents.pop_back();
    return true;
  }

  std::vector<json *> parents;
  json *slot = nullptr;
};
} // namespace

/// `line 3, column 5` of the byte before \p offset.
static std::string lineAndColumn(std::string_view text, size_t offset) {
  const std::string_view before =
      text.substr(0, std::min(offset == 0 ? 0 : offset - 1, text.size()));
  const size_t line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t lastBreak = before.rfind('\n');
  const size_t column = lastBreak == std::string_view::npos
                            ? before.size() + 1
                            : before.size() - lastBreak;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

Result<json> tandem::parseJson(std::string_view text, std::string_view file) {
  Builder builder;
  const bool parsed = json::sax_parse(text.begin(), text.end(), &builder);
  const std::string place(file);
  if (!parsed) {
    if (builder.problemOffset == std::string::npos)
      return Error(place + ": " + builder.problem);
    return Error(place + ": " + lineAndColumn(text, builder.problemOffset) +
                 ": not JSON: " + builder.problem);
  }
  if (!builder.duplicates.empty()) {
    Messages messages(file);
    for (const std::string &name : builder.duplicates)
      messages.add("",
                   "the key " + quote(name) + " is given twice in one object");
    return messages.error();
  }
  return std::move(builder.root);
}

void Messages::add(const std::string &place, const std::string &what) {
  constexpr size_t most = 1000;
  if (all.size() < most)
    all.push_back(file + ": " + (place.empty() ? "" : place + ": ") + what);
  else
    ++dropped;
}

Error Messages::error() const {
  std::vector<std::string> messages = all;
  if (dropped)
    messages.push_back("and " + std::to_string(dropped) + " more errors");
  return Error(std::move(messages));
}

std::string tandem::describeJson(const json &j) {
  switch (j.type()) {
  case json::value_t::null:
    return "null";
  case json::value_t::boolean:
    return j.get_ref<const bool &>() ? "true" : "false";
  case json::value_t::string:
    return quote(j.get_ref<const std::string &>());
  case json::value_t::array:
    return "an array";
  case json::value_t::object:
    return "an object";
  default:
    return j.dump(-1, ' ', false, json::error_handler_t::replace);
  }
}

std::optional<int64_t> tandem::integerIn(const json &j) {
  if (j.is_number_unsigned()) {
    const uint64_t value = j.get_ref<const json::number_unsigned_t &>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return std::nullopt;
    return static_cast<int64_t>(value);
  }
  if (j.is_number_integer())
    return j.get_ref<const json::number_integer_t &>();
  return std::nullopt;
}

std::string tandem::memberOf(std::string_view place, std::string_view member) {
  return std::string(place) + (place.empty() ? "" : ".") + std::string(member);
}

std::string tandem::indexed(std::string_view place, size_t index) {
  return std::string(place) + "[" + std::to_string(index) + "]";
}

JsonObject::JsonObject(const json &j, std::string place,
                       std::span<const std::string_view> known,
                       Messages &messages)
    : place(std::move(place)), messages(messages) {
  if (!j.is_object()) {
    messages.add(this->place, "expected an object, got " + describeJson(j));
    return;
  }
  object = &j;
  for (const auto &[name, value] : j.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      messages.add(this->place, "no member is named " + quote(name) +
                                    didYouMean(name, known));
}

const json *JsonObject::find(std::string_view name) const {
  if (!object)
    return nullptr;
  const auto found = object->find(std::string(name));
  return found == object->end() ? nullptr : &*found;
}

const json *JsonObject::require(std::string_view name) {
  if (!object)
    return nullptr;
  const json *member = find(name);
  if (!member)
    messages.add(place, quote(name) + " is missing");
  return member;
}

std::optional<std::string> JsonObject::getString(std::string_view name) {
  const json *member = require(name);
  if (!member)
    return std::nullopt;
  if (member->is_string())
    return member->get_ref<const std::string &>();
  messages.add(placeOf(name),
               "expected a string, got " + describeJson(*member));
  return std::nullopt;
}

std::optional<int64_t> JsonObject::getInt(std::string_view name) {
  const json *member = require(name);
  if (!member)
    return std::nullopt;
  if (const std::optional<int64_t> value = integerIn(*member))
    return value;
  messages.add(placeOf(name),
               "expected an integer, got " + describeJson(*member));
  return std::nullopt;
}

std::optional<bool> JsonObject::getBool(std::string_view name) {
  const json *member = require(name);
  if (!member)
    return std::nullopt;
  if (member->is_boolean())
    return member->get_ref<const bool &>();
  messages.add(placeOf(name),
               "expected true or false, got " + describeJson(*member));
  return std::nullopt;
}

const json *JsonObject::getArray(std::string_view name) {
  const json *member = require(name);
  if (!member)
    return nullptr;
  if (member->is_array())
    return member;
  messages.add(placeOf(name),
               "expected an array, got " + describeJson(*member));
  return nullptr;
}
