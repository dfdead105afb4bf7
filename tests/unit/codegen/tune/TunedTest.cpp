//===- TunedTest.cpp - Tuned schedules: keys, databases, use --------------===//
#include "../Recipes.h"

#include "codegen/TunedSchedules.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace tandem;
using namespace tandem::tests;

namespace {
/// A database file that $TANDEM_TUNED names while this lives. Each has its own
/// name, because a file is read once.
class Database {
public:
  explicit Database(const std::string &text) {
    static int number = 0;
    path = (std::filesystem::temp_directory_path() /
            ("tandem_tuned_" + std::to_string(getpid()) + "_" +
             std::to_string(number++) + ".json"))
               .string();
    std::ofstream(path) << text;
    setenv("TANDEM_TUNED", path.c_str(), 1);
  }
  ~Database() {
    unsetenv("TANDEM_TUNED");
    std::filesystem::remove(path);
  }
  std::string path;
};
} // namespace

static Recipe softmax(const std::string &name, const std::string &rows,
                      const std::string &cols) {
  const std::string shape = "\"" + rows + "\", \"" + cols + "\"";
  return recipeOf(
      "{\"name\": \"" + name + "\", \"inputs\": [" +
      tensor("x_" + name, "float32", shape) + "], \"outputs\": [" +
      tensor("y_" + name, "float32", shape) +
      R"(], "recipe": {"steps": [{"op": "softmax", "args": [{"in": 0}], "out": "final"}]}})");
}

static Recipe product(const char *params) {
  return chain(
      tensor("x", "bfloat16", "\"M\", \"K\"") + "," +
          tensor("w", "bfloat16", "\"N\", \"K\""),
      tensor("y", "bfloat16", "\"M\", \"N\""),
      std::string(
          R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}], "out": "final")") +
          params + "}");
}

static TunedSchedule record(const Recipe &recipe, const DimBindings &dims,
                            std::map<std::string, std::string> set) {
  return {tunedKey(recipe, dims, "sm_90a"),
          "sm_90a",
          "a device",
          recipe,
          dims,
          std::move(set),
          1.5,
          2};
}

TEST_SUITE("codegen/tune") {
  TEST_CASE("a key forgets names and keeps the class of each size") {
    const Recipe first = softmax("a", "M", "K"),
                 second = softmax("b", "R", "C");
    const std::string key = tunedKey(first, {{"M", 4}, {"K", 1000}}, "sm_90a");
    CHECK(key.size() == 16);
    CHECK(key == tunedKey(second, {{"R", 4}, {"C", 700}}, "sm_90a"));
    CHECK(key != tunedKey(first, {{"M", 4}, {"K", 1024}}, "sm_90a"));
    CHECK(key != tunedKey(first, {{"M", 4}, {"K", 1000}}, "sm_80"));
  }

  TEST_CASE("rows of a row-wise kernel choose nothing, rows of a product do") {
    const Recipe rows = softmax("a", "M", "K");
    CHECK(tunedKey(rows, {{"M", 1}, {"K", 64}}, "sm_90a") ==
          tunedKey(rows, {{"M", 100000}, {"K", 64}}, "sm_90a"));
    const Recipe gemm = product("");
    CHECK(tunedKey(gemm, {{"M", 1}, {"N", 64}, {"K", 64}}, "sm_90a") !=
          tunedKey(gemm, {{"M", 4096}, {"N", 64}, {"K", 64}}, "sm_90a"));
  }

  TEST_CASE("what says `invariant` is not tuned") {
    CHECK(tunedKey(product(R"(, "params": {"invariant": true})"),
                   {{"M", 64}, {"N", 64}, {"K", 64}}, "sm_90a")
              .empty());
  }

  TEST_CASE("a database reads as it was written") {
    const Recipe recipe = softmax("a", "M", "K");
    const std::string text =
        writeTuned({record(recipe, {{"M", 4}, {"K", 1000}}, {{"warps", "2"}}),
                    record(recipe, {{"M", 4}, {"K", 100}}, {{"warps", "1"}})});
    const auto read = readTuned(text, "file");
    REQUIRE(bool(read));
    REQUIRE(read->size() == 2);
    CHECK((*read)[0].set.at("warps") == "2");
    CHECK((*read)[0].recipe == recipe);
    CHECK((*read)[1].dims.at("K") == 100);
    CHECK(writeTuned(*read) == text);
  }

  TEST_CASE("a database that does not fit says where, all at once") {
    TunedSchedule wrong =
        record(softmax("a", "M", "K"), {{"M", 4}, {"K", 1000}}, {});
    wrong.key = "0123456789abcdef";
    const auto key = readTuned(writeTuned({wrong}), "f");
    REQUIRE(!key);
    CHECK(key.error().text().find("f: records[0].key: expected") == 0);
    CHECK(key.error().text().find("got '0123456789abcdef'") !=
          std::string::npos);
    const auto two =
        readTuned(R"({"records": [{"key": 1, "set": {"warps": 2}}]})", "f");
    REQUIRE(!two);
    const std::string all = two.error().text();
    CHECK(all.find("records[0].key: expected a string, got 1") !=
          std::string::npos);
    CHECK(all.find("records[0].set.warps: expected a string, got 2") !=
          std::string::npos);
    CHECK(!readTuned("[]", "f"));
    CHECK(!readTuned("{", "f"));
  }

  TEST_CASE("a record is used where nothing is set, and only there") {
    const Recipe recipe = softmax("a", "M", "K");
    const DimBindings dims = {{"M", 4}, {"K", 1000}};
    const auto warpsOf = [&](CompileOptions options, const DimBindings &sizes) {
      return compileTypical(recipe, options, sizes)
          ->launches[0]
          .kernel->launch.block[0];
    };
    const int rules = warpsOf({}, dims);
    CompileOptions asSet, untuned;
    asSet.set = {{"warps", "16"}};
    untuned.useTuned = false;
    REQUIRE(rules != 8 * 32);
    const Database database(
        writeTuned({record(recipe, dims, {{"warps", "8"}})}));
    CHECK(warpsOf({}, dims) == 8 * 32);
    CHECK(warpsOf({}, {{"M", 9}, {"K", 600}}) == 8 * 32);
    CHECK(warpsOf({}, {{"M", 4}, {"K", 100}}) != 8 * 32);
    CHECK(warpsOf(asSet, dims) == 16 * 32);
    CHECK(warpsOf(untuned, dims) == rules);
    CHECK(compileTypical(recipe, {}, dims)->explanation.back() ==
          "tuned: warps=8");
  }

  TEST_CASE("where a record makes no kernel the rules' choice stays") {
    const Recipe recipe = softmax("a", "M", "K");
    const DimBindings dims = {{"M", 4}, {"K", 1000}};
    const int rules =
        compileTypical(recipe, {}, dims)->launches[0].kernel->launch.block[0];
    const Database database(
        writeTuned({record(recipe, dims, {{"tile_m", "64"}})}));
    const auto program = compileTypical(recipe, {}, dims);
    CHECK(program->launches[0].kernel->launch.block[0] == rules);
    CHECK(program->launches.size() == 1);
  }

  TEST_CASE("a database that cannot be read stops the compiler") {
    setenv("TANDEM_TUNED", "/nowhere/tuned.json", 1);
    const Recipe recipe = softmax("a", "M", "K");
    auto operands = typicalOperands(recipe, {{"M", 4}, {"K", 8}});
    const auto program = compile(recipe, operands->first, operands->second, {});
    unsetenv("TANDEM_TUNED");
    REQUIRE(!program);
    CHECK(program.error().text() ==
          "TANDEM_TUNED: cannot read '/nowhere/tuned.json'");
  }

  TEST_CASE("every record that the compiler comes with is read and used") {
    const auto records = readTuned(shippedTuned(), "codegen/tune/tuned.json");
    INFO((records ? std::string() : records.error().text()));
    REQUIRE(bool(records));
    for (const TunedSchedule &shipped : *records) {
      CAPTURE(shipped.key);
      CAPTURE(shipped.set);
      CompileOptions options;
      options.target = shipped.target;
      const auto program =
          compileTypical(shipped.recipe, options, shipped.dims);
      CHECK(program->explanation.back().starts_with("tuned:"));
    }
  }
}
