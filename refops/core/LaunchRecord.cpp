//===- LaunchRecord.cpp - Launch records as JSON --------------------------===//
#include "refops/core/LaunchRecord.h"

#include "refops/core/JsonText.h"
#include "refops/core/RecordSymbols.h"
#include "refops/core/Spelling.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

using namespace tandem;
using nlohmann::json;

static constexpr std::array<std::string_view, 3> roleNames = {"in", "out",
                                                              "state"};
static constexpr std::array<std::string_view, 6> kindNames = {
    "pointer", "i32", "i64", "error_slot", "workspace", "tensor_map"};

static json tensorMapToJson(const TensorMapSpec &map) {
  json dims = json::array(), strides = json::array();
  for (const IntExpr &dim : map.dims)
    dims.push_back(dim.text());
  for (const IntExpr &stride : map.strides)
    strides.push_back(stride.text());
  json one = {{"type", mapTypeName(map.type)},
              {"dims", std::move(dims)},
              {"strides", std::move(strides)},
              {"box", map.box},
              {"swizzle", mapSwizzleName(map.swizzle)},
              {"fill", mapFillName(map.fill)},
              {"promotion", mapPromotionName(map.promotion)}};
  if (!map.elementStrides.empty())
    one["element_strides"] = map.elementStrides;
  return one;
}

std::string tandem::writeLaunchRecord(const LaunchRecord &record) {
  json operands = json::array(), args = json::array(), grid = json::array(),
       preconditions = json::array();
  for (const RecordOperand &operand : record.operands)
    operands.push_back(
        {{"name", operand.name},
         {"dtype", dtypeName(operand.dtype)},
         {"rank", operand.rank},
         {"role", roleNames[static_cast<size_t>(operand.role)]}});
  for (const KernelArg &arg : record.args) {
    json one = {{"kind", kindNames[static_cast<size_t>(arg.kind)]}};
    if (arg.kind == KernelArg::Kind::TensorMap)
      one.update(tensorMapToJson(arg.map));
    if (arg.kind == KernelArg::Kind::Pointer ||
        arg.kind == KernelArg::Kind::TensorMap)
      one["operand"] = arg.operand;
    else if (arg.kind != KernelArg::Kind::ErrorSlot)
      one["value"] = arg.value.text();
    args.push_back(std::move(one));
  }
  for (const IntExpr &size : record.grid)
    grid.push_back(size.text());
  for (const LaunchRecord::Precondition &condition : record.preconditions)
    preconditions.push_back({{"condition", condition.condition.text()},
                             {"reason", condition.reason}});
  json j = {{"kernel", record.kernel},
            {"target", record.target},
            {"operands", std::move(operands)},
            {"args", std::move(args)},
            {"grid", std::move(grid)},
            {"block", record.block},
            {"cluster", record.cluster},
            {"shared_bytes", record.sharedBytes},
            {"preconditions", std::move(preconditions)},
            {"ctas_communicate", record.ctasCommunicate},
            {"contract", record.contract}};
  if (record.programmatic)
    j["programmatic_launch"] = true;
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {
class Reader {
public:
  explicit Reader(std::string_view file) : file(file), messages(file) {}

  Result<LaunchRecord> read(const json &document) {
    static constexpr std::array<std::string_view, 12> members = {
        "kernel",        "target",
        "operands",      "args",
        "grid",          "block",
        "cluster",       "shared_bytes",
        "preconditions", "ctas_communicate",
        "contract",      "programmatic_launch"};
    // Another file by mistake: fifteen messages would tell less than one.
    if (document.is_object() && !document.contains("kernel") &&
        !document.contains("operands") && !document.contains("args")) {
      messages.add("", "expected a launch record, as `tandem compile --launch` "
                       "writes it; 'kernel', 'operands' and 'args' are "
                       "missing");
      return messages.error();
    }
    JsonObject top(document, "", members, messages);
    if (!top.isValid())
      return messages.error();
    record.kernel = top.getString("kernel").value_or("");
    record.target = top.getString("target").value_or("");
    // Operands first: every expression is checked against them.
    const size_t before = messages.size();
    readEach(top, "operands",
             [&](const json &j, std::string place) { readOperand(j, place); });
    operandsAreGood = messages.size() == before;
    readEach(top, "args",
             [&](const json &j, std::string place) { readArg(j, place); });
    readEach(top, "preconditions", [&](const json &j, std::string place) {
      readPrecondition(j, place);
    });
    readGrid(top);
    record.block = readSizes(top, "block");
    record.cluster = readSizes(top, "cluster");
    record.sharedBytes = top.getInt("shared_bytes").value_or(0);
    if (record.sharedBytes < 0)
      messages.add("shared_bytes", "expected a size, got " +
                                       std::to_string(record.sharedBytes));
    record.ctasCommunicate = top.getBool("ctas_communicate").value_or(false);
    if (top.has("programmatic_launch"))
      record.programmatic = top.getBool("programmatic_launch").value_or(false);
    readContract(top);
    if (!messages.empty())
      return messages.error();
    return std::move(record);
  }

private:
  template <typename Read>
  void readEach(JsonObject &object, std::string_view name, Read read) {
    const json *array = object.getArray(name);
    for (size_t i = 0; array && i < array->size(); ++i)
      read((*array)[i], indexed(object.placeOf(name), i));
  }

  /// The value whose name \p name holds, by its place in \p names.
  template <typename Enum, size_t n>
  Enum readEnum(JsonObject &object, std::string_view name,
                const std::array<std::string_view, n> &names) {
    const std::optional<std::string> text = object.getString(name);
    if (!text)
      return Enum{};
    const auto found = std::find(names.begin(), names.end(), *text);
    if (found == names.end()) {
      messages.add(object.placeOf(name), "no " + std::string(name) +
                                             " is named " + quote(*text) +
                                             didYouMean(*text, names));
      return Enum{};
    }
    return static_cast<Enum>(found - names.begin());
  }

  void readOperand(const json &j, const std::string &place) {
    static constexpr std::array<std::string_view, 4> members = {"name", "dtype",
                                                                "rank", "role"};
    RecordOperand operand;
    JsonObject object(j, place, members, messages);
    if (object.isValid()) {
      operand.name = object.getString("name").value_or("");
      for (const RecordOperand &other : record.operands)
        if (other.name == operand.name)
          messages.add(object.placeOf("name"),
                       "the name " + quote(operand.name) + " is given twice");
      if (const std::optional<std::string> name = object.getString("dtype")) {
        const std::optional<DType> dtype = dtypeNamed(*name);
        if (!dtype || *dtype == DType::I4)
          messages.add(object.placeOf("dtype"),
                       "no dtype is named " + quote(*name));
        else
          operand.dtype = *dtype;
      }
      const int64_t rank = object.getInt("rank").value_or(0);
      if (rank < 0 || rank > static_cast<int64_t>(maxRank))
        messages.add(object.placeOf("rank"),
                     "expected 0 to 8, got " + std::to_string(rank));
      operand.rank = static_cast<int>(rank);
      operand.role = readEnum<RecordOperand::Role>(object, "role", roleNames);
    }
    record.operands.push_back(std::move(operand));
  }

  IntExpr readExpr(const json &j, const std::string &place) {
    if (!j.is_string()) {
      messages.add(place, "expected an expression, got " + describeJson(j));
      return 0;
    }
    Result<IntExpr> expr = IntExpr::parse(j.get_ref<const std::string &>());
    if (!expr) {
      messages.add(place, expr.error().text());
      return 0;
    }
    // Operands that were reported are not reported again, nor is a symbol.
    for (const std::string &symbol : expr->symbols()) {
      if (!operandsAreGood)
        break;
      const Result<RecordSymbol> found = resolveSymbol(record, symbol);
      if (!found && reported.insert(found.error().text()).second)
        messages.add(place, found.error().text());
    }
    return expr.take();
  }

  void readArg(const json &j, const std::string &place) {
    static constexpr std::array<std::string_view, 11> members = {
        "kind", "operand",         "value",   "type", "dims",     "strides",
        "box",  "element_strides", "swizzle", "fill", "promotion"};
    KernelArg arg;
    JsonObject object(j, place, members, messages);
    if (object.isValid() && object.has("kind")) {
      arg.kind = readEnum<KernelArg::Kind>(object, "kind", kindNames);
      const bool isMap = arg.kind == KernelArg::Kind::TensorMap;
      const bool isPointer = arg.kind == KernelArg::Kind::Pointer || isMap;
      if (isMap)
        readTensorMap(object, arg.map);
      else
        for (size_t m = 3; m < members.size(); ++m)
          if (object.has(members[m]))
            messages.add(place, "only a tensor_map has " + quote(members[m]));
      const bool hasValue =
          !isPointer && arg.kind != KernelArg::Kind::ErrorSlot;
      if (isPointer) {
        const int64_t operand = object.getInt("operand").value_or(0);
        const bool exists =
            operand >= 0 &&
            operand < static_cast<int64_t>(record.operands.size());
        if (!exists && operandsAreGood)
          messages.add(object.placeOf("operand"),
                       "no operand " + std::to_string(operand) +
                           ": there are " +
                           std::to_string(record.operands.size()));
        else if (exists)
          arg.operand = static_cast<int>(operand);
      } else if (object.has("operand")) {
        messages.add(place, "only a pointer or a tensor_map has an 'operand'");
      }
      if (hasValue && !object.has("value"))
        messages.add(place, "'value' is missing");
      else if (hasValue)
        arg.value = readExpr(*object.find("value"), object.placeOf("value"));
      else if (object.has("value"))
        messages.add(place, "only i32, i64 and workspace have a 'value'");
      if (arg.kind == KernelArg::Kind::Workspace)
        for (const KernelArg &other : record.args)
          if (other.kind == KernelArg::Kind::Workspace)
            messages.add(place, "a second workspace: a launch has one");
    } else if (object.isValid()) {
      messages.add(place, "'kind' is missing");
    }
    record.args.push_back(std::move(arg));
  }

  void readTensorMap(JsonObject &object, TensorMapSpec &map) {
    map.type = readNamed<MapType>(object, "type", 13, mapTypeName);
    if (object.has("swizzle"))
      map.swizzle = readNamed<MapSwizzle>(object, "swizzle", 4, mapSwizzleName);
    if (object.has("fill"))
      map.fill = readNamed<MapFill>(object, "fill", 2, mapFillName);
    if (object.has("promotion"))
      map.promotion =
          readNamed<MapPromotion>(object, "promotion", 4, mapPromotionName);
    readEach(object, "dims", [&](const json &j, std::string at) {
      map.dims.push_back(readExpr(j, at));
    });
    if (map.dims.size() > 1 || object.has("strides"))
      readEach(object, "strides", [&](const json &j, std::string at) {
        map.strides.push_back(readExpr(j, at));
      });
    const auto readInts = [&](const char *name, std::vector<int> &to) {
      readEach(object, name, [&](const json &j, std::string at) {
        const std::optional<int64_t> value = integerIn(j);
        if (!value || *value < 1 || *value > 256)
          messages.add(at, "expected 1 to 256, got " + describeJson(j));
        else
          to.push_back(static_cast<int>(*value));
      });
    };
    readInts("box", map.box);
    if (object.has("element_strides"))
      readInts("element_strides", map.elementStrides);
    if (map.dims.empty() || map.dims.size() > maxMapRank)
      messages.add(object.placeOf("dims"), "expected 1 to 5 dims, got " +
                                               std::to_string(map.dims.size()));
    else if (map.strides.size() != map.dims.size() - 1)
      messages.add(object.placeOf("strides"),
                   "expected " + std::to_string(map.dims.size() - 1) +
                       " entries, got " + std::to_string(map.strides.size()));
  }

  template <typename Enum>
  Enum readNamed(JsonObject &object, std::string_view name, int count,
                 std::string_view (*nameOf)(Enum)) {
    const std::optional<std::string> text = object.getString(name);
    for (int i = 0; text && i < count; ++i)
      if (nameOf(static_cast<Enum>(i)) == *text)
        return static_cast<Enum>(i);
    if (text)
      messages.add(object.placeOf(name),
                   "no " + std::string(name) + " is named " + quote(*text));
    return Enum{};
  }

  void readPrecondition(const json &j, const std::string &place) {
    static constexpr std::array<std::string_view, 2> members = {"condition",
                                                                "reason"};
    JsonObject object(j, place, members, messages);
    if (!object.isValid())
      return;
    LaunchRecord::Precondition precondition;
    if (const json *condition = object.find("condition"))
      precondition.condition =
          readExpr(*condition, object.placeOf("condition"));
    else
      messages.add(place, "'condition' is missing");
    precondition.reason = object.getString("reason").value_or("");
    record.preconditions.push_back(std::move(precondition));
  }

  const json *readThree(JsonObject &object, std::string_view name) {
    const json *array = object.getArray(name);
    if (array && array->size() != 3) {
      messages.add(object.placeOf(name),
                   "expected 3 entries, got " + std::to_string(array->size()));
      return nullptr;
    }
    return array;
  }

  void readGrid(JsonObject &top) {
    const json *array = readThree(top, "grid");
    for (size_t i = 0; array && i < 3; ++i)
      record.grid[i] = readExpr((*array)[i], indexed("grid", i));
  }

  std::array<int, 3> readSizes(JsonObject &top, std::string_view name) {
    std::array<int, 3> sizes = {1, 1, 1};
    const json *array = readThree(top, name);
    for (size_t i = 0; array && i < 3; ++i) {
      const std::optional<int64_t> size = integerIn((*array)[i]);
      // No target has more than 1024 threads a CTA or 16 CTAs a cluster.
      if (!size || *size < 1 || *size > 1024)
        messages.add(indexed(name, i),
                     "expected 1 to 1024, got " + describeJson((*array)[i]));
      else
        sizes[i] = static_cast<int>(*size);
    }
    return sizes;
  }

  void readContract(JsonObject &top) {
    const json *j = top.find("contract");
    if (!j)
      return messages.add("", "'contract' is missing");
    Result<Contract> contract = contractFromJson(*j, "contract");
    if (contract)
      record.contract = contract.take();
    else
      for (const std::string &message : contract.error().messages)
        messages.add("", message);
  }

  std::string file;
  Messages messages;
  LaunchRecord record;
  bool operandsAreGood = false;
  std::set<std::string> reported;
};
} // namespace

Result<LaunchRecord> tandem::readLaunchRecord(std::string_view text,
                                              std::string_view file) {
  const Result<json> document = parseJson(text, file);
  if (!document)
    return document.error();
  return Reader(file).read(*document);
}
