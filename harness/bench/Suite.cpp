//===- Suite.cpp - Rows to measure, as JSON -------------------------------===//
#include "harness/bench/Suite.h"

#include "refops/core/IntExpr.h"
#include "refops/core/JsonText.h"
#include "refops/core/Spelling.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <array>

using namespace tandem;
using namespace tandem::bench;
using nlohmann::json;

std::string_view tandem::bench::ceilingName(Ceiling ceiling) {
  constexpr std::array<std::string_view, 3> names = {"copy", "read", "flops"};
  return names[static_cast<size_t>(ceiling)];
}

std::span<const std::string_view> tandem::bench::peerNames() {
  static constexpr std::array<std::string_view, 4> names = {
      "cublas", "torch", "compile", "triton"};
  return names;
}

std::vector<TensorDesc> tandem::bench::inputDescs(const Row &row) {
  std::vector<TensorDesc> descs;
  for (const RecipeInput &input : row.recipe.inputs)
    descs.push_back(
        contiguous(input.type.dtype, bindShape(input.type.shape, row.dims)));
  return descs;
}

std::vector<TensorDesc> tandem::bench::outputDescs(const Row &row) {
  std::vector<TensorDesc> descs;
  for (const RecipeOutput &output : row.recipe.outputs)
    descs.push_back(
        contiguous(output.type.dtype, bindShape(output.type.shape, row.dims)));
  return descs;
}

/// Every operand once, a state twice: it is read and written.
static int64_t operandBytes(const Row &row) {
  int64_t bytes = 0;
  const auto add = [&](const TensorDesc &desc) {
    bytes += desc.numElements() * static_cast<int64_t>(dtypeSize(desc.dtype));
  };
  const std::vector<TensorDesc> inputs = inputDescs(row);
  for (size_t i = 0; i < inputs.size(); ++i) {
    add(inputs[i]);
    if (row.recipe.inputs[i].isState)
      add(inputs[i]);
  }
  for (const TensorDesc &desc : outputDescs(row))
    add(desc);
  return bytes;
}

namespace {
class Reader {
public:
  explicit Reader(std::string_view file) : file(file), messages(file) {}

  Result<Suite> read(const json &document) {
    static constexpr std::array<std::string_view, 4> members = {
        "suite", "title", "recipes", "rows"};
    JsonObject top(document, "", members, messages);
    if (!top.isValid())
      return messages.error();
    suite.name = top.getString("suite").value_or("");
    suite.title = top.getString("title").value_or("");
    readRecipes(top);
    const json *rows = top.getArray("rows");
    for (size_t i = 0; rows && i < rows->size(); ++i)
      readRow((*rows)[i], indexed("rows", i));
    if (!messages.empty())
      return messages.error();
    return std::move(suite);
  }

private:
  void readRecipes(JsonObject &top) {
    const json *all = top.find("recipes");
    if (!all)
      return;
    if (!all->is_object())
      return messages.add("recipes",
                          "expected an object, got " + describeJson(*all));
    for (const auto &[name, text] : all->items()) {
      const std::string place = memberOf("recipes", name);
      Result<Recipe> recipe = readRecipe(text.dump(), place);
      if (recipe)
        recipes.emplace(name, recipe.take());
      else
        for (const std::string &message : recipe.error().messages)
          messages.add("", message);
    }
  }

  void readRow(const json &j, const std::string &place) {
    static constexpr std::array<std::string_view, 11> members = {
        "name",  "kind",  "recipe", "dims", "ceiling", "bytes",
        "flops", "peers", "values", "set",  "reach"};
    JsonObject object(j, place, members, messages);
    if (!object.isValid())
      return;
    const size_t before = messages.size();
    Row row;
    row.name = object.getString("name").value_or("");
    if (object.has("kind"))
      readKind(object, row);
    const std::optional<std::string> recipe = object.getString("recipe");
    if (recipe && !recipes.contains(*recipe))
      messages.add(object.placeOf("recipe"),
                   "no recipe is named " + quote(*recipe));
    if (messages.size() != before || !recipe)
      return;
    row.recipe = recipes.at(*recipe);
    readDims(object, row);
    if (object.has("ceiling"))
      readCeiling(object, row);
    if (messages.size() != before)
      return;
    row.bytes = object.has("bytes") ? evaluate(object, "bytes", row.dims)
                                    : operandBytes(row);
    if (object.has("flops"))
      row.flops = evaluate(object, "flops", row.dims);
    if (row.ceiling == Ceiling::Flops && row.flops <= 0)
      messages.add(place, "a ceiling of flops needs 'flops'");
    readPeers(object, row);
    readValues(object, row);
    readSets(object, row);
    readReach(object, row);
    suite.rows.push_back(std::move(row));
  }

  void readKind(JsonObject &object, Row &row) {
    const std::string kind = object.getString("kind").value_or("kernel");
    if (kind == "launch")
      row.kind = RowKind::Launch;
    else if (kind == "compile")
      row.kind = RowKind::Compile;
    else if (kind != "kernel")
      messages.add(object.placeOf("kind"),
                   "expected kernel, launch or compile, got " + quote(kind));
  }

  void readCeiling(JsonObject &object, Row &row) {
    const std::string name = object.getString("ceiling").value_or("copy");
    for (Ceiling one : {Ceiling::Copy, Ceiling::Read, Ceiling::Flops})
      if (ceilingName(one) == name) {
        row.ceiling = one;
        return;
      }
    messages.add(object.placeOf("ceiling"),
                 "expected copy, read or flops, got " + quote(name));
  }

  /// The sizes of all symbols, of which the recipe must have each.
  void readDims(JsonObject &object, Row &row) {
    std::vector<std::string> symbols;
    const auto visit = [&](const TensorType &type) {
      for (const Dim &dim : type.shape)
        if (dim.isSymbol())
          symbols.push_back(dim.symbol());
    };
    for (const RecipeInput &input : row.recipe.inputs)
      visit(input.type);
    for (const RecipeOutput &output : row.recipe.outputs)
      visit(output.type);
    const std::string place = object.placeOf("dims");
    if (const json *dims = object.find("dims")) {
      if (!dims->is_object())
        return messages.add(place,
                            "expected an object, got " + describeJson(*dims));
      for (const auto &[name, value] : dims->items()) {
        const std::optional<int64_t> size = integerIn(value);
        if (!size || *size < 1 || *size > maxDim)
          messages.add(memberOf(place, name),
                       "expected a size, got " + describeJson(value));
        else
          row.dims[name] = *size;
      }
    }
    for (const std::string &symbol : symbols)
      if (!row.dims.contains(symbol)) {
        messages.add(place, "no size for " + quote(symbol));
        row.dims[symbol] = 1;
      }
  }

  int64_t evaluate(JsonObject &object, std::string_view name,
                   const DimBindings &dims) {
    const std::optional<std::string> text = object.getString(name);
    if (!text)
      return 0;
    const Result<IntExpr> expr = IntExpr::parse(*text);
    if (!expr) {
      messages.add(object.placeOf(name), expr.error().text());
      return 0;
    }
    const Result<int64_t> value =
        expr->evaluate([&](const std::string &symbol) -> Result<int64_t> {
          const auto found = dims.find(symbol);
          if (found == dims.end())
            return Error("no dim is named " + quote(symbol));
          return found->second;
        });
    if (value)
      return *value;
    messages.add(object.placeOf(name), value.error().text());
    return 0;
  }

  void readPeers(JsonObject &object, Row &row) {
    if (!object.has("peers"))
      return;
    const json *peers = object.getArray("peers");
    for (size_t i = 0; peers && i < peers->size(); ++i) {
      const json &one = (*peers)[i];
      const auto known = peerNames();
      if (!one.is_string() ||
          std::ranges::find(known, one.get<std::string>()) == known.end())
        messages.add(indexed(object.placeOf("peers"), i),
                     "expected cublas, torch, compile or triton, got " +
                         describeJson(one));
      else
        row.peers.push_back(one);
    }
  }

  void readValues(JsonObject &object, Row &row) {
    for (size_t i = 0; i < row.recipe.inputs.size(); ++i) {
      harness::ValueSpec spec;
      spec.kind =
          isInteger(row.recipe.inputs[i].type.dtype) ? "uniform" : "normal";
      spec.seed = i + 1;
      row.values.push_back(spec);
    }
    const json *values = object.find("values");
    if (!values)
      return;
    const std::string place = object.placeOf("values");
    if (!values->is_object())
      return messages.add(place,
                          "expected an object, got " + describeJson(*values));
    for (const auto &[name, value] : values->items()) {
      const auto input = std::ranges::find_if(
          row.recipe.inputs,
          [&name = name](const RecipeInput &one) { return one.name == name; });
      if (input == row.recipe.inputs.end()) {
        messages.add(place, "no input is named " + quote(name));
        continue;
      }
      static constexpr std::array<std::string_view, 2> members = {"kind",
                                                                  "below"};
      JsonObject one(value, memberOf(place, name), members, messages);
      harness::ValueSpec &spec =
          row.values[static_cast<size_t>(input - row.recipe.inputs.begin())];
      if (one.has("kind"))
        spec.kind = one.getString("kind").value_or(spec.kind);
      if (one.has("below"))
        spec.limit = one.getInt("below").value_or(0);
    }
  }

  void readSets(JsonObject &object, Row &row) {
    if (!object.has("set"))
      return;
    const json *sets = object.getArray("set");
    for (size_t i = 0; sets && i < sets->size(); ++i) {
      const std::string place = indexed(object.placeOf("set"), i);
      if (!(*sets)[i].is_object()) {
        messages.add(place,
                     "expected an object, got " + describeJson((*sets)[i]));
        continue;
      }
      std::map<std::string, std::string> set;
      for (const auto &[name, value] : (*sets)[i].items())
        set[name] = value.is_string() ? value.get<std::string>() : value.dump();
      row.sets.push_back(std::move(set));
    }
  }

  void readReach(JsonObject &object, Row &row) {
    const json *reach = object.find("reach");
    if (!reach)
      return;
    static constexpr std::array<std::string_view, 2> members = {"share",
                                                                "ratio"};
    JsonObject one(*reach, object.placeOf("reach"), members, messages);
    const auto number = [&](std::string_view name, double &to) {
      const json *value = one.isValid() ? one.find(name) : nullptr;
      if (value && !value->is_number())
        messages.add(one.placeOf(name),
                     "expected a number, got " + describeJson(*value));
      else if (value)
        to = value->get<double>();
    };
    number("share", row.reachShare);
    number("ratio", row.reachRatio);
  }

  std::string file;
  Messages messages;
  Suite suite;
  std::map<std::string, Recipe> recipes;
};
} // namespace

Result<Suite> tandem::bench::readSuite(std::string_view text,
                                       std::string_view file) {
  const Result<json> document = parseJson(text, file);
  if (!document)
    return document.error();
  return Reader(file).read(*document);
}
