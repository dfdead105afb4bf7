//===- TunedDatabase.cpp - Databases of tuned schedules -------------------===//
#include "codegen/TunedSchedules.h"
#include "codegen/tune/Shipped.h"
#include "refops/core/JsonText.h"
#include "refops/core/Spelling.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>

using namespace tandem;
using nlohmann::json;

namespace {
using Parameters = std::map<std::string, std::string>;
using Lookup = std::map<std::string, Parameters, std::less<>>;

/// Reads the members of one record into messages or a TunedSchedule.
class RecordReader {
public:
  RecordReader(const json &j, std::string place, Messages &messages)
      : object(j, place, members, messages), messages(messages) {}

  void readInto(std::vector<TunedSchedule> &records) {
    if (!object.isValid())
      return;
    const size_t before = messages.size();
    TunedSchedule record;
    record.key = object.getString("key").value_or("");
    record.target = object.getString("target").value_or("");
    record.device = object.getString("device").value_or("");
    record.us = number("us");
    record.rulesUs = number("rules_us");
    readDims(record.dims);
    readSet(record.set);
    readRecipe(record.recipe);
    if (messages.size() != before)
      return;
    const std::string key = tunedKey(record.recipe, record.dims, record.target);
    if (record.key != key)
      return messages.add(object.placeOf("key"),
                          "expected " + quote(key) +
                              ", the hash of recipe, dims and target, got " +
                              quote(record.key));
    records.push_back(std::move(record));
  }

private:
  static constexpr std::array<std::string_view, 8> members = {
      "key", "target", "device", "recipe", "dims", "set", "us", "rules_us"};

  const json *objectAt(std::string_view name) {
    const json *member = object.find(name);
    if (member && member->is_object())
      return member;
    messages.add(object.placeOf(name),
                 "expected an object, got " +
                     (member ? describeJson(*member) : "nothing"));
    return nullptr;
  }
  double number(std::string_view name) {
    const json *member = object.find(name);
    if (member && member->is_number())
      return member->get<double>();
    messages.add(object.placeOf(name),
                 "expected a number, got " +
                     (member ? describeJson(*member) : "nothing"));
    return 0;
  }
  void readDims(DimBindings &dims) {
    const json *all = objectAt("dims");
    if (!all)
      return;
    for (const auto &[name, size] : all->items()) {
      const std::optional<int64_t> value = integerIn(size);
      if (value && *value >= 0)
        dims[name] = *value;
      else
        messages.add(memberOf(object.placeOf("dims"), name),
                     "expected a size, got " + describeJson(size));
    }
  }
  void readSet(Parameters &set) {
    const json *all = objectAt("set");
    if (!all)
      return;
    for (const auto &[name, value] : all->items()) {
      if (value.is_string())
        set[name] = value.get<std::string>();
      else
        messages.add(memberOf(object.placeOf("set"), name),
                     "expected a string, got " + describeJson(value));
    }
  }
  void readRecipe(Recipe &recipe) {
    const json *text = objectAt("recipe");
    if (!text)
      return;
    Result<Recipe> read =
        tandem::readRecipe(text->dump(), object.placeOf("recipe"));
    if (read)
      recipe = read.take();
    else
      for (const std::string &message : read.error().messages)
        messages.add("", message);
  }

  JsonObject object;
  Messages &messages;
};
} // namespace

Result<std::vector<TunedSchedule>> tandem::readTuned(std::string_view text,
                                                     std::string_view file) {
  const Result<json> document = parseJson(text, file);
  if (!document)
    return document.error();
  Messages messages(file);
  static constexpr std::array<std::string_view, 1> members = {"records"};
  JsonObject top(*document, "", members, messages);
  std::vector<TunedSchedule> records;
  if (const json *all = top.isValid() ? top.getArray("records") : nullptr)
    for (size_t i = 0; i < all->size(); ++i)
      RecordReader((*all)[i], indexed("records", i), messages)
          .readInto(records);
  if (!messages.empty())
    return messages.error();
  return records;
}

std::string tandem::writeTuned(const std::vector<TunedSchedule> &records) {
  json all = json::array();
  for (const TunedSchedule &record : records)
    all.push_back({{"key", record.key},
                   {"target", record.target},
                   {"device", record.device},
                   {"recipe", json::parse(writeRecipe(record.recipe))},
                   {"dims", record.dims},
                   {"set", record.set},
                   {"us", record.us},
                   {"rules_us", record.rulesUs}});
  // A record a line: databases are compared and merged by hand too.
  std::string text = "{\n \"records\": [";
  for (size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "\n  " : ",\n  ") + all[i].dump();
  return text + (all.empty() ? "" : "\n ") + "]\n}\n";
}

std::string_view tandem::shippedTuned() { return codegen::shippedTunedText; }

/// Keys and parameters of the compiler's own database. Its recipes, which a
/// test reads, would cost the first compilation milliseconds.
static Lookup shippedLookup() {
  Lookup lookup;
  const json document = json::parse(shippedTuned(), nullptr, false);
  if (!document.is_object())
    return lookup;
  for (const json &record : document.value("records", json::array()))
    lookup[record.value("key", "")] = record.value("set", Parameters());
  return lookup;
}

static Result<Lookup> lookupOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return Error("TANDEM_TUNED: cannot read '" + path + "'");
  const Result<std::vector<TunedSchedule>> records =
      readTuned(text.str(), path);
  if (!records)
    return records.error();
  Lookup lookup = shippedLookup();
  for (const TunedSchedule &record : *records)
    lookup[record.key] = record.set;
  return lookup;
}

/// The database that \p variable, the value of $TANDEM_TUNED, asks for. Each is
/// read once.
static std::shared_ptr<const Result<Lookup>>
databaseOf(const std::string &variable) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Result<Lookup>>> known;
  const std::scoped_lock lock(mutex);
  std::shared_ptr<const Result<Lookup>> &entry = known[variable];
  if (!entry)
    entry = std::make_shared<const Result<Lookup>>(
        variable.empty()    ? Result<Lookup>(shippedLookup())
        : variable == "off" ? Result<Lookup>(Lookup())
                            : lookupOf(variable));
  return entry;
}

Result<std::optional<Parameters>>
tandem::tunedParameters(const Recipe &recipe, const DimBindings &dims,
                        std::string_view target) {
  const char *variable = std::getenv("TANDEM_TUNED");
  const std::shared_ptr<const Result<Lookup>> database =
      databaseOf(variable ? variable : "");
  if (!*database)
    return database->error();
  const Lookup &lookup = **database;
  if (lookup.empty())
    return std::optional<Parameters>();
  const std::string key = tunedKey(recipe, dims, target);
  const auto found = lookup.find(key);
  if (key.empty() || found == lookup.end())
    return std::optional<Parameters>();
  return std::optional<Parameters>(found->second);
}
