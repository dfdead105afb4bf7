//===- LaunchRecordTest.cpp - Launch records, contracts and binding -------===//
#include "refops/core/LaunchRecord.h"

#include "refops/core/RecordSymbols.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace tandem;
using nlohmann::json;

namespace {
IntExpr expr(const char *text) {
  Result<IntExpr> parsed = IntExpr::parse(text);
  REQUIRE_MESSAGE(bool(parsed), parsed.error().text());
  return parsed.take();
}

LaunchRecord sample() {
  LaunchRecord record;
  record.kernel = "norm_1";
  record.target = "sm_90a";
  record.operands = {{"x", DType::BF16, 2, RecordOperand::Role::In},
                     {"y", DType::F32, 2, RecordOperand::Role::Out}};
  using Kind = KernelArg::Kind;
  record.args = {{Kind::Pointer, 0, 0},
                 {Kind::Pointer, 1, 0},
                 {Kind::I32, -1, expr("x.shape[1] - 5")},
                 {Kind::I64, -1, expr("x.stride[0] * 2")},
                 {Kind::ErrorSlot, -1, 0},
                 {Kind::Workspace, -1, expr("4 * x.shape[0]")}};
  record.grid = {expr("ceildiv(x.shape[0], 4)"), expr("1"), expr("1")};
  record.block = {128, 1, 1};
  record.sharedBytes = 1024;
  record.preconditions = {
      {expr("x.align >= 16"), "rows are loaded 16 bytes at a time"}};
  record.contract.steps.resize(2);
  StepContract &step = record.contract.steps[0];
  step.op = Opcode::RMSNORM;
  step.depth = "ceildiv(n, 128) + 7";
  step.order = "chunk 4096, 8 registers, 32 lanes, 4 warps";
  step.approx = {"rsqrt.approx"};
  record.contract.steps[1].step = 1;
  record.contract.steps[1].op = Opcode::GEMM_TILE;
  record.contract.steps[1].dot = "mma.m16n8k16.bf16";
  record.contract.steps[1].dotChunk = 16;
  return record;
}

std::vector<Operand> operandsOf(int64_t rows, int64_t cols,
                                uint64_t address = 0x1000) {
  return {{contiguous(DType::BF16, {rows, cols}), address},
          {contiguous(DType::F32, {rows, cols}), 0x2000}};
}

std::string bindError(const LaunchRecord &record,
                      const std::vector<Operand> &operands) {
  const Result<BoundLaunch> bound = bindLaunch(record, operands);
  return bound ? "bound" : bound.error().text();
}

/// Errors of reading the sample after \p change.
template <typename Change>
std::string readError(Change change) {
  json j = json::parse(writeLaunchRecord(sample()));
  change(j);
  const Result<LaunchRecord> record = readLaunchRecord(j.dump(), "l.json");
  return record ? "read" : record.error().text();
}
} // namespace

TEST_SUITE("launch record") {
  TEST_CASE("writing and reading gives an equal record") {
    const std::string text = writeLaunchRecord(sample());
    const Result<LaunchRecord> record = readLaunchRecord(text, "l.json");
    REQUIRE_MESSAGE(bool(record), record.error().text());
    CHECK(*record == sample());
    CHECK(writeLaunchRecord(*record) == text);
  }

  TEST_CASE("a record is bound to a call") {
    const Result<BoundLaunch> bound = bindLaunch(sample(), operandsOf(9, 3));
    REQUIRE_MESSAGE(bool(bound), bound.error().text());
    CHECK(bound->grid == std::array<int64_t, 3>{3, 1, 1});
    // 3 - 5 = -2 as 32 bits; the device fills in slot and workspace.
    CHECK(bound->args ==
          std::vector<uint64_t>{0x1000, 0x2000, 0xfffffffe, 6, 0, 0});
    CHECK(bound->workspaceBytes == 36);
    CHECK(!bound->isNoOp());
    CHECK(bindLaunch(sample(), operandsOf(0, 3))->isNoOp());
  }

  TEST_CASE("symbols are looked up once and serve every call") {
    const LaunchRecord record = sample();
    const Result<LaunchSymbols> symbols = resolveSymbols(record);
    REQUIRE_MESSAGE(bool(symbols), symbols.error().text());
    // x.align, x.shape[0], x.shape[1] and x.stride[0], each once.
    CHECK(symbols->symbols.size() == 4);
    BoundLaunch bound;
    for (int64_t rows : {9, 0, 1000}) {
      const std::vector<Operand> operands = operandsOf(rows, 3);
      REQUIRE(bool(bindLaunch(record, *symbols, operands, bound)));
      const Result<BoundLaunch> fresh = bindLaunch(record, operands);
      REQUIRE(bool(fresh));
      CHECK(bound.grid == fresh->grid);
      CHECK(bound.args == fresh->args);
      CHECK(bound.workspaceBytes == fresh->workspaceBytes);
    }
    LaunchRecord bad = sample();
    bad.grid[1] = expr("z.shape[0]");
    CHECK(resolveSymbols(bad).error().text() ==
          "norm_1: grid[1]: symbol 'z.shape[0]': no operand is named 'z'");
    // A pointer has no value, whatever is written there.
    bad = sample();
    bad.args[0].value = expr("x.shape[0]");
    CHECK(bool(bindLaunch(bad, operandsOf(9, 3))));
  }

  TEST_CASE(
      "what is no record at all gets one message, and a bad operand too") {
    const Result<LaunchRecord> recipe =
        readLaunchRecord(R"({"name": "r", "recipe": {}})", "r.json");
    REQUIRE(!recipe);
    CHECK(recipe.error().text() ==
          "r.json: expected a launch record, as `tandem compile --launch` "
          "writes it; 'kernel', 'operands' and 'args' are missing");
    CHECK(readError([](json &j) { j["operands"][0]["rank"] = "two"; }) ==
          "l.json: operands[0].rank: expected an integer, got 'two'");
    CHECK(readError([](json &j) {
            j["grid"] = {"z.shape[0]", "z.shape[0] + 1", "1"};
          }) ==
          "l.json: grid[0]: symbol 'z.shape[0]': no operand is named 'z'");
  }

  TEST_CASE("alignment is the largest power of two up to 256") {
    LaunchRecord record = sample();
    record.args = {{KernelArg::Kind::I32, -1, expr("x.align")}};
    for (const auto &[address, align] :
         std::vector<std::pair<uint64_t, uint64_t>>{
             {0x1000, 256}, {0x1110, 16}, {0x1180, 128}, {0, 256}}) {
      const Result<BoundLaunch> bound =
          bindLaunch(record, operandsOf(4, 4, address));
      REQUIRE_MESSAGE(bool(bound), bound.error().text());
      CHECK(bound->args[0] == align);
    }
  }

  TEST_CASE("a call that the kernel is not for is refused with the reason") {
    CHECK(bindError(sample(), operandsOf(4, 4, 0x1002)) ==
          "norm_1: precondition 'x.align >= 16' does not hold: rows are loaded "
          "16 bytes at a time");
    CHECK(bindError(sample(), {}) == "norm_1: takes 2 operands, got 0");
    std::vector<Operand> operands = operandsOf(4, 4);
    operands[1].desc.dtype = DType::F16;
    CHECK(bindError(sample(), operands) ==
          "norm_1: operand 'y': expected float32, got float16");
    operands[0].desc = contiguous(DType::BF16, {4});
    CHECK(bindError(sample(), operands) ==
          "norm_1: operand 'x': expected rank 2, got bfloat16[4] strides [1]");
  }

  TEST_CASE("the limits of grids and 32-bit arguments hold") {
    LaunchRecord record = sample();
    record.grid[1] = expr("x.shape[0]");
    CHECK(bindError(record, operandsOf(65535, 9)) == "bound");
    CHECK(bindError(record, operandsOf(65536, 9)) ==
          "norm_1: grid[1]: expected 0 to 65535, got 65536");
    record = sample();
    record.grid[0] = expr("x.shape[1]");
    CHECK(bindError(record, operandsOf(1, int64_t(1) << 31)) ==
          "norm_1: grid[0]: expected 0 to 2147483647, got 2147483648");
    record.grid[0] = expr("0 - x.shape[1]");
    CHECK(bindError(record, operandsOf(1, 9)) ==
          "norm_1: grid[0]: expected 0 to 2147483647, got -9");
    record = sample();
    CHECK(bindError(record, operandsOf(1, (int64_t(1) << 31) + 5)) ==
          "norm_1: args[2]: 2147483648 does not fit 32 bits");
    record.args[5].value = expr("-x.shape[0]");
    CHECK(bindError(record, operandsOf(1, 9)) ==
          "norm_1: args[5]: expected a size, got -1");
    record.args[0].operand = 2;
    CHECK(bindError(record, operandsOf(1, 9)) ==
          "norm_1: args[0]: no operand 2");
  }

  TEST_CASE("expressions that fail name their place") {
    LaunchRecord record = sample();
    record.grid[0] = expr("1 / x.shape[1]");
    CHECK(bindError(record, operandsOf(1, 0)) ==
          "norm_1: grid[0]: expression '1 / x.shape[1]': division by zero");
    record.preconditions[0].condition = expr("z.align > 0");
    CHECK(bindError(record, operandsOf(1, 1)) ==
          "norm_1: precondition: symbol 'z.align': no operand is named 'z'");
    record.preconditions[0].condition = expr("x.shape[2] > 0");
    CHECK(bindError(record, operandsOf(1, 1)) ==
          "norm_1: precondition: symbol 'x.shape[2]': operand 'x' has rank 2");
    record.preconditions[0].condition = expr("x.size > 0");
    CHECK(bindError(record, operandsOf(1, 1)) ==
          "norm_1: precondition: symbol 'x.size': expected NAME.shape[i], "
          "NAME.stride[i] or NAME.align");
  }

  TEST_CASE("every wrong member of a record has its place") {
    CHECK(readError([](json &j) {}) == "read");
    CHECK(readError([](json &j) { j.erase("kernel"); }) ==
          "l.json: 'kernel' is missing");
    CHECK(readError([](json &j) { j["gird"] = 1; }) ==
          "l.json: no member is named 'gird'; did you mean 'grid'?");
    CHECK(readError([](json &j) { j["grid"] = {"1", "1"}; }) ==
          "l.json: grid: expected 3 entries, got 2");
    CHECK(readError([](json &j) { j["grid"][1] = 1; }) ==
          "l.json: grid[1]: expected an expression, got 1");
    CHECK(readError([](json &j) { j["grid"][1] = "1 +"; }) ==
          "l.json: grid[1]: expression '1 +': column 4: expected a value, got "
          "the end");
    CHECK(readError([](json &j) { j["grid"][1] = "z.shape[0]"; }) ==
          "l.json: grid[1]: symbol 'z.shape[0]': no operand is named 'z'");
    CHECK(readError([](json &j) { j["block"][0] = 1025; }) ==
          "l.json: block[0]: expected 1 to 1024, got 1025");
    CHECK(readError([](json &j) { j["shared_bytes"] = -1; }) ==
          "l.json: shared_bytes: expected a size, got -1");
    CHECK(readError([](json &j) { j["ctas_communicate"] = 0; }) ==
          "l.json: ctas_communicate: expected true or false, got 0");
    CHECK(readError([](json &j) { j["operands"][0]["dtype"] = "bf16"; })
              .starts_with("l.json: operands[0].dtype: no dtype is named "
                           "'bf16'"));
    CHECK(readError([](json &j) { j["operands"][0]["role"] = "inn"; }) ==
          "l.json: operands[0].role: no role is named 'inn'; did you mean "
          "'in'?");
    CHECK(readError([](json &j) { j["operands"][1]["rank"] = 9; }) ==
          "l.json: operands[1].rank: expected 0 to 8, got 9");
    CHECK(readError([](json &j) { j["operands"][1]["name"] = "x"; }) ==
          "l.json: operands[1].name: the name 'x' is given twice");
    CHECK(readError([](json &j) { j["args"][0]["kind"] = "i23"; }) != "read");
    CHECK(readError([](json &j) { j["args"][0].erase("kind"); }) ==
          "l.json: args[0]: 'kind' is missing");
    CHECK(readError([](json &j) { j["args"][0]["operand"] = 2; }) ==
          "l.json: args[0].operand: no operand 2: there are 2");
    CHECK(readError([](json &j) { j["args"][0]["value"] = "1"; }) ==
          "l.json: args[0]: only i32, i64 and workspace have a 'value'");
    CHECK(readError([](json &j) { j["args"][2]["operand"] = 1; }) ==
          "l.json: args[2]: only a pointer or a tensor_map has an 'operand'");
    CHECK(readError([](json &j) { j["args"][2].erase("value"); }) ==
          "l.json: args[2]: 'value' is missing");
    CHECK(readError([](json &j) { j["args"].push_back(j["args"][5]); }) ==
          "l.json: args[6]: a second workspace: a launch has one");
    CHECK(readError([](json &j) { j["preconditions"][0] = json::object(); }) ==
          "l.json: preconditions[0]: 'condition' is missing\n"
          "l.json: preconditions[0]: 'reason' is missing");
    CHECK(readError([](json &j) { j.erase("contract"); }) ==
          "l.json: 'contract' is missing");
    CHECK(readLaunchRecord("{", "l.json")
              .error()
              .text()
              .starts_with("l.json: line 1, column 2: not JSON: "));
    CHECK(readLaunchRecord("7", "l.json").error().text() ==
          "l.json: expected an object, got 7");
  }
}

TEST_SUITE("contract") {
  TEST_CASE("writing and reading gives an equal contract") {
    Contract contract = sample().contract;
    contract.steps[0].rescales = "ceildiv(n, 64) + 4";
    const Result<Contract> read = contractFromJson(json(contract), "c");
    REQUIRE_MESSAGE(bool(read), read.error().text());
    CHECK(*read == contract);
  }

  TEST_CASE("every wrong member of a contract has its place") {
    const auto readError = [](auto change) {
      json j = sample().contract;
      change(j);
      const Result<Contract> read = contractFromJson(j, "c");
      return read ? "read" : read.error().text();
    };
    CHECK(readError([](json &j) { j = 1; }) == "c: expected an object, got 1");
    CHECK(readError([](json &j) { j.erase("steps"); }) ==
          "c: 'steps' is missing");
    CHECK(readError([](json &j) { j["steps"][0]["op"] = "norm"; }) ==
          "c: steps[0].op: no op is named 'norm'");
    CHECK(readError([](json &j) { j["steps"][0]["step"] = -1; }) ==
          "c: steps[0].step: expected a count, got -1");
    CHECK(readError([](json &j) {
            j["steps"][0]["depth"] = "n +";
          }).starts_with("c: steps[0].depth: expression 'n +': column 4"));
    CHECK(readError([](json &j) { j["steps"][0]["depth"] = "m"; }) ==
          "c: steps[0].depth: depends on 'm', expected only 'n'");
    CHECK(readError([](json &j) { j["steps"][0]["rescales"] = "n + k"; }) ==
          "c: steps[0].rescales: depends on 'k', expected only 'n'");
    CHECK(readError([](json &j) { j["steps"][0]["approx"] = {1}; }) ==
          "c: steps[0].approx[0]: expected a string, got 1");
    CHECK(readError([](json &j) { j["steps"][1]["dotChunk"] = 16; }) ==
          "c: steps[1]: no member is named 'dotChunk'; did you mean "
          "'dot_chunk'?");
  }
}
