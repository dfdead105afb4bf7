//===- MutationReport.cpp - The score, for programs and people ------------===//
#include "harness/mutate/Score.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using nlohmann::json;

int64_t MutationReport::count(MutantStatus status) const {
  return std::count_if(
      mutants.begin(), mutants.end(),
      [status](const MutantResult &m) { return m.status == status; });
}

double MutationReport::score() const {
  const auto killed = static_cast<double>(count(MutantStatus::Killed));
  const auto survived = static_cast<double>(count(MutantStatus::Survived));
  return killed + survived > 0 ? killed / (killed + survived) : 1;
}

int MutationReport::medianCases() const {
  std::vector<int> cases;
  for (const MutantResult &mutant : mutants)
    if (mutant.status == MutantStatus::Killed)
      cases.push_back(mutant.cases);
  if (cases.empty())
    return 0;
  std::sort(cases.begin(), cases.end());
  return cases[cases.size() / 2];
}

json tandem::harness::mutationToJson(const MutationReport &report) {
  json j;
  j["seed"] = report.seed;
  j["cases"] = report.cases;
  j["score"] = report.score();
  j["passes"] = report.passes();
  j["median_cases_to_kill"] = report.medianCases();
  for (MutantStatus status :
       {MutantStatus::Killed, MutantStatus::Survived, MutantStatus::Equivalent,
        MutantStatus::NotApplicable, MutantStatus::NotTried})
    j["counts"][std::string(statusName(status))] = report.count(status);
  j["mutants"] = json::array();
  for (const MutantResult &mutant : report.mutants)
    j["mutants"].push_back({{"op", mutant.op},
                            {"stage", mutant.stage},
                            {"name", mutant.name},
                            {"status", statusName(mutant.status)},
                            {"cases", mutant.cases},
                            {"failure", mutant.failure},
                            {"note", mutant.note}});
  return j;
}

std::string tandem::harness::mutationToText(const MutationReport &report) {
  std::string text;
  char line[256];
  // By op: killed and survived, and how long the killing took.
  std::map<std::string, MutationReport> parts;
  for (const MutantResult &mutant : report.mutants) {
    const bool isOracle = mutant.stage == stageName(MutantStage::Oracle);
    parts[isOracle ? "the oracle" : mutant.op].mutants.push_back(mutant);
  }
  text += "op                  killed  survived  equivalent  cases to kill:"
          " median  most\n";
  for (const auto &[op, part] : parts) {
    int most = 0;
    for (const MutantResult &mutant : part.mutants)
      if (mutant.status == MutantStatus::Killed)
        most = std::max(most, mutant.cases);
    std::snprintf(line, sizeof line, "%-18s %7lld  %8lld  %10lld  %21d  %4d\n",
                  op.c_str(),
                  static_cast<long long>(part.count(MutantStatus::Killed)),
                  static_cast<long long>(part.count(MutantStatus::Survived)),
                  static_cast<long long>(part.count(MutantStatus::Equivalent)),
                  part.medianCases(), most);
    text += line;
  }
  for (const MutantResult &mutant : report.mutants) {
    if (mutant.status == MutantStatus::Survived)
      text +=
          "SURVIVED " + mutant.op + ", " + mutant.stage + ": " + mutant.name +
          (mutant.failure.empty() ? "" : " (" + mutant.failure + ")") + "\n";
    if (mutant.status == MutantStatus::Equivalent)
      text += "equivalent " + mutant.op + ", " + mutant.stage + ": " +
              mutant.name + ": " + mutant.note + "\n";
  }
  std::snprintf(
      line, sizeof line,
      "score %.1f %%: %lld killed, %lld survived, %lld equivalent, "
      "%lld do not apply; %d cases at most, seed %llu\n",
      100 * report.score(),
      static_cast<long long>(report.count(MutantStatus::Killed)),
      static_cast<long long>(report.count(MutantStatus::Survived)),
      static_cast<long long>(report.count(MutantStatus::Equivalent)),
      static_cast<long long>(report.count(MutantStatus::NotApplicable)),
      report.cases, static_cast<unsigned long long>(report.seed));
  return text + line;
}
