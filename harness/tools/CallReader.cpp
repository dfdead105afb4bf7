//===- CallReader.cpp - What the operands of an emulated call are ---------===//
#include "harness/tools/CallReader.h"

#include "harness/gen/Values.h"
#include "harness/io/Tensors.h"
#include "refops/core/JsonText.h"
#include "refops/core/Spelling.h"
#include "refops/core/TypeRules.h"

#include <array>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using namespace tandem::tools;
using nlohmann::json;

namespace {
/// Reads the `call` member of a launch file.
class CallReader {
public:
  CallReader(const LaunchRecord &record, const std::string &file)
      : record(record), file(file), messages(file) {}

  Result<std::vector<CallOperand>> read(const json &call) {
    std::vector<std::string_view> names;
    for (const RecordOperand &operand : record.operands)
      names.push_back(operand.name);
    JsonObject object(call, "call", names, messages);
    if (!object.isValid())
      return messages.error();
    std::vector<CallOperand> operands;
    for (const RecordOperand &operand : record.operands) {
      const json *entry = object.find(operand.name);
      if (!entry) {
        messages.add("call", quote(operand.name) +
                                 " is missing, the kernel takes this operand");
        continue;
      }
      Result<CallOperand> made =
          readOperand(operand, *entry, object.placeOf(operand.name));
      if (!made)
        return made.error();
      operands.push_back(made.take());
    }
    if (!messages.empty())
      return messages.error();
    return operands;
  }

private:
  std::optional<Dims> readCounts(JsonObject &object, std::string_view name) {
    const json *array = object.getArray(name);
    Dims counts;
    for (size_t i = 0; array && i < array->size(); ++i) {
      const std::optional<int64_t> count = integerIn((*array)[i]);
      if (count && *count >= 0)
        counts.push_back(*count);
      else
        messages.add(indexed(object.placeOf(name), i),
                     "expected a count, got " + describeJson((*array)[i]));
    }
    if (!array || counts.size() != array->size())
      return std::nullopt;
    return counts;
  }

  Result<CallOperand> readOperand(const RecordOperand &operand, const json &j,
                                  const std::string &place) {
    static constexpr std::array<std::string_view, 6> members = {
        "shape", "strides", "file", "values", "seed", "limit"};
    JsonObject object(j, place, members, messages);
    HostTensor tensor;
    ValueSpec values;
    values.kind = "normal";
    values.seed = 1;
    const bool hasFile = object.has("file");
    if (hasFile) {
      const std::optional<std::string> path = object.getString("file");
      if (!path)
        return messages.error();
      Result<HostTensor> read = readTensor(*path, operand.name, operand.dtype);
      if (!read)
        return read.error();
      tensor = read.take();
      if (tensor.desc.dtype != operand.dtype)
        return Error(file + ": " + place + ": expected " +
                     std::string(dtypeName(operand.dtype)) + ", the file has " +
                     std::string(dtypeName(tensor.desc.dtype)));
      if (object.has("shape") || object.has("values"))
        messages.add(place, "takes a 'file', or a 'shape' and 'values'");
    } else {
      if (std::optional<Dims> shape = readCounts(object, "shape"))
        tensor.desc = contiguous(operand.dtype, std::move(*shape));
      if (object.has("values"))
        values.kind = object.getString("values").value_or("");
      if (object.has("seed"))
        values.seed = static_cast<uint64_t>(object.getInt("seed").value_or(0));
      if (object.has("limit"))
        values.limit = object.getInt("limit").value_or(0);
    }
    if (!messages.empty())
      return messages.error();
    CallOperand result;
    if (hasFile) {
      result.elements = rowMajorElements(tensor);
    } else if (object.has("values") ||
               operand.role != RecordOperand::Role::Out) {
      const std::string at = file + ": " + place;
      if (Result<void> ok = allocateElements(tensor, at); !ok)
        return ok.error();
      if (Result<void> ok = fillValues(values, tensor.view()); !ok)
        return Error(at + ": " + ok.error().text());
      result.elements = std::move(tensor.bytes);
    }
    result.desc = std::move(tensor.desc);
    if (object.has("strides"))
      if (std::optional<Dims> strides = readCounts(object, "strides"))
        result.desc.strides = std::move(*strides);
    if (const std::string problem = problemOfView(result.desc);
        !problem.empty())
      messages.add(place, problem);
    if (!messages.empty())
      return messages.error();
    return result;
  }

  const LaunchRecord &record;
  const std::string &file;
  Messages messages;
};
} // namespace

Result<std::vector<CallOperand>>
tandem::tools::readCall(const LaunchRecord &record, const json &call,
                        const std::string &file) {
  return CallReader(record, file).read(call);
}
