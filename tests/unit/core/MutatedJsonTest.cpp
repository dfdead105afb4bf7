//===- MutatedJsonTest.cpp - Readers survive anything ---------------------===//
//
// Deterministic mutations of right documents. A reader may accept or refuse,
// but it never crashes, never gives an error without a message, and what it
// accepts it can write and read again. The sanitizer preset makes this sharper.
//
//===----------------------------------------------------------------------===//
#include "refops/core/LaunchRecord.h"
#include "refops/core/Recipe.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

using namespace tandem;

namespace {
const std::string recipeText = R"({"name": "r", "inputs": [
  {"name": "x", "dtype": "bfloat16", "shape": ["M", 64]},
  {"name": "w", "dtype": "bfloat16", "shape": [64]},
  {"name": "W", "dtype": "float16", "shape": ["N", 64], "role": "state"}],
 "outputs": [{"name": "y", "dtype": "float32", "shape": ["M", "N"]},
  {"name": "i", "dtype": "int32", "shape": ["M"]}],
 "recipe": {"steps": [
  {"op": "RMSNORM", "args": [{"in": 0}, {"in": 1}], "out": 0,
   "params": {"eps": 1e-5}, "out_shape": ["M", 64], "out_dtype": "float16"},
  {"op": 6, "args": [{"s": 0}, {"in": 2}], "out": "final",
   "params": {"n_off": 0, "weight_layout": "nk", "invariant": true}},
  {"op": "sample_argmax", "args": [{"s": 0}], "out": [{"out": 1}]}]}})";

const std::string recordText = R"json({"kernel": "k", "target": "sm_80",
 "operands": [{"name": "x", "dtype": "float32", "rank": 2, "role": "in"}],
 "args": [{"kind": "pointer", "operand": 0}, {"kind": "i64",
  "value": "min(x.shape[0], 4) * -x.stride[1]"}, {"kind": "error_slot"}],
 "grid": ["ceildiv(x.shape[0], 4)", "1", "1"], "block": [1, 1, 1],
 "cluster": [1, 1, 1], "shared_bytes": 0, "preconditions": [
  {"condition": "x.align >= 16 && x.shape[1] % 8 == 0", "reason": "r"}],
 "ctas_communicate": false, "contract": {"accumulator": "float32",
  "steps": [{"step": 0, "op": "gelu", "depth": "n", "approx": ["exp"]}]}})json";

/// Byte edits, and edits that keep the text JSON: swapped and repeated tokens.
std::string mutated(const std::string &text, std::mt19937_64 &random) {
  static const std::string pieces[] = {
      "-1",        "1e999", "9223372036854775808", "true", "null", "{}",
      "[]",        "\"\"",  "4611686018427387904", "0",    "1.5",  "\"final\"",
      "{\"s\":0}", "[[[[",  "\"\\ud800\"",         "\xff", ",",    "\"M\""};
  std::string result = text;
  const uint64_t edits = 1 + random() % 4;
  for (uint64_t i = 0; i < edits && !result.empty(); ++i) {
    const size_t at = random() % result.size();
    const std::string &piece = pieces[random() % std::size(pieces)];
    switch (random() % 8) {
    case 0:
      result[at] = static_cast<char>(random());
      break;
    case 1:
      result.erase(at, 1 + random() % 8);
      break;
    case 2:
      result.insert(at, piece);
      break;
    case 3: { // replace a token
      const size_t start = result.find_first_of(":,[", at);
      if (start == std::string::npos)
        break;
      const size_t end = result.find_first_of(",]}", start + 1);
      if (end != std::string::npos)
        result.replace(start + 1, end - start - 1, piece);
      break;
    }
    case 5: // another number, or another name
    case 6:
    case 7: {
      const size_t digit = result.find_first_of("0123456789MNxyw", at);
      if (digit != std::string::npos)
        result[digit] = "0123456789MNxyw"[random() % 15];
      break;
    }
    case 4: { // repeat a stretch elsewhere
      const std::string stretch = result.substr(at, random() % 40);
      result.insert(random() % result.size(), stretch);
      break;
    }
    }
  }
  return result;
}

template <typename Read, typename Write>
void survive(const std::string &text, uint64_t seed, Read read, Write write) {
  std::mt19937_64 random(seed);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string input = mutated(text, random);
    const auto result = read(input);
    if (!result) {
      ++refused;
      const bool hasMessage = !result.error().messages.empty() &&
                              !result.error().messages[0].empty();
      REQUIRE_MESSAGE(hasMessage, input);
      continue;
    }
    ++accepted;
    const auto again = read(write(*result));
    REQUIRE_MESSAGE(bool(again), input);
    REQUIRE_MESSAGE(*again == *result, input);
  }
  // Both sides are reached, or the mutations say nothing.
  CHECK(accepted > 200);
  CHECK(refused > 10000);
}
} // namespace

TEST_SUITE("mutated documents") {
  TEST_CASE("the recipe reader survives mutated recipes") {
    const auto read = [](const std::string &text) {
      return readRecipe(text, "r.json");
    };
    const Result<Recipe> whole = read(recipeText);
    REQUIRE_MESSAGE(bool(whole), whole.error().text());
    survive(recipeText, 11, read,
            [](const Recipe &recipe) { return writeRecipe(recipe); });
  }

  TEST_CASE("the launch record reader survives mutated records") {
    const auto read = [](const std::string &text) {
      return readLaunchRecord(text, "l.json");
    };
    const Result<LaunchRecord> whole = read(recordText);
    REQUIRE_MESSAGE(bool(whole), whole.error().text());
    survive(recordText, 12, read, [](const LaunchRecord &record) {
      return writeLaunchRecord(record);
    });
  }
}
