//===- CaseTest.cpp - Cases print as what replays them --------------------===//
#include "harness/case/Case.h"

#include "harness/case/Hash.h"
#include "harness/gen/Generate.h"

#include <cmath>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;

static std::string lineError(const std::string &line) {
  Result<Case> result = parseCaseLine(line);
  return result ? "" : result.error().text();
}

TEST_SUITE("harness case") {
  TEST_CASE("a line reads back as the case that printed it") {
    const Case original{"softmax", {5, 0, 31, 0, 0}, {}};
    CHECK(original.line() == "softmax:3:5.0.31");
    Result<Case> read = parseCaseLine(original.line());
    REQUIRE(read);
    CHECK(read->scope == "softmax");
    CHECK(read->choices == ChoiceSequence{5, 0, 31});
    CHECK(read->name() == original.name());
    CHECK(parseCaseLine("chain:3:")->choices.empty());
  }

  TEST_CASE("a bad line is refused with its reason") {
    CHECK(
        lineError("softmax") ==
        "case 'softmax': expected SCOPE:VERSION:CHOICES, e.g. softmax:3:5.31");
    CHECK(
        lineError("softmax:9:1") ==
        "case 'softmax:9:1': made by generator version '9', this is version 3");
    CHECK(lineError("softmax:3:1.x") ==
          "case 'softmax:3:1.x': choice 1: expected a number, got 'x'");
    CHECK(lineError("softmacks:3:1") ==
          "case 'softmacks:3:1': no op is named 'softmacks'; did you mean "
          "'softmax'?");
    CHECK(
        lineError("@/no/such.json:3:1").find("/no/such.json: cannot be read") ==
        0);
  }

  TEST_CASE("a spec survives its file") {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      Result<Case> made = randomCase("chain", {}, seed);
      REQUIRE(made);
      CaseFile file{*specOf(*made), made->line(), "why", "result value in add"};
      Result<CaseFile> read = readCaseFile(writeCaseFile(file), "c.json");
      REQUIRE_MESSAGE(read, read.error().text());
      CHECK(read->spec == file.spec);
      CHECK(read->line == file.line);
      CHECK(read->failure == file.failure);
    }
  }

  TEST_CASE("values that are given survive the file, infinities too") {
    Result<Case> made = randomCase("softmax", {}, 1);
    REQUIRE(made);
    CaseFile file{*specOf(*made), "", "why", ""};
    file.spec.inputs[0].values = {};
    file.spec.inputs[0].values.kind = givenKind;
    file.spec.inputs[0].values.given = {1.5, -INFINITY, 131071, INFINITY};
    Result<CaseFile> read = readCaseFile(writeCaseFile(file), "c.json");
    REQUIRE_MESSAGE(read, read.error().text());
    CHECK(read->spec == file.spec);
    file.spec.inputs[0].values.given = {NAN};
    read = readCaseFile(writeCaseFile(file), "c.json");
    REQUIRE_MESSAGE(read, read.error().text());
    CHECK(std::isnan(read->spec.inputs[0].values.given.at(0)));
    nlohmann::json j = nlohmann::json::parse(writeCaseFile(file));
    auto error = [&](const nlohmann::json &values) {
      j["spec"]["inputs"][0]["values"] = values;
      Result<CaseFile> bad = readCaseFile(j.dump(), "c.json");
      return bad ? std::string() : bad.error().text();
    };
    CHECK(error(nlohmann::json::array()) ==
          "c.json: spec.inputs[0].values: expected at least one number");
    CHECK(error({1, "one"}) == "c.json: spec.inputs[0].values: expected a "
                               "number, nan, inf or -inf, got \"one\"");
  }

  TEST_CASE("errors name the file, the place and the cause") {
    auto error = [](const std::string &text) {
      Result<CaseFile> read = readCaseFile(text, "c.json");
      return read ? std::string() : read.error().text();
    };
    CHECK(error("[").starts_with("c.json: line 1, column 2: not JSON: "));
    CHECK(error("[]") == "c.json: expected an object, got an array");
    CHECK(error("{}") ==
          "c.json: tandem_case: expected 1, the version of the format");
    CHECK(error(R"({"tandem_case": 1})") == "c.json: spec: missing");
    CHECK(error(R"({"tandem_case": 1, "spec": {}})") ==
          "c.json: spec: a case needs a 'recipe'");
    Result<Case> made = randomCase("softmax", {}, 1);
    nlohmann::json j =
        nlohmann::json::parse(writeCaseFile({*specOf(*made), "", "", ""}));
    j["spec"]["inputs"] = nlohmann::json::array();
    CHECK(error(j.dump()) == "c.json: spec.inputs: expected 1 entries, got 0");
  }

  TEST_CASE("hashes are FNV-1a of 128 bits") {
    // The published value for "a" (draft-eastlake-fnv, test vectors).
    CHECK(contentHash("") == "6c62272e07bb014262b821756295c58d");
    CHECK(contentHash("a") == "d228cb696f1a8caf78912b704e4a8964");
  }
}
