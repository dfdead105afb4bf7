//===- Report.cpp - A campaign's report, for programs and people ----------===//
#include "harness/campaign/Campaign.h"

#include "harness/gen/Generate.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using nlohmann::json;

static std::string lower(std::string_view word) {
  std::string text(word);
  for (char &c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

json tandem::harness::reportToJson(const CampaignReport &report) {
  json j;
  j["seed"] = report.seed;
  j["device"] = report.device;
  j["cases"] = report.cases;
  for (int i = 0; i < numVerdicts; ++i)
    j["verdicts"][lower(verdictName(static_cast<Verdict>(i)))] =
        report.verdicts[i];
  j["reasons"] = report.reasons;
  j["ops"] = json::object();
  for (const auto &[op, tally] : report.ops)
    j["ops"][op] = {{"cases", tally.cases},
                    {"max_ratio", tally.maxRatio},
                    {"median_ratio", tally.medianRatio}};
  j["schedules"] = report.schedules;
  j["comparisons"] = {{"exact", report.exact},
                      {"repeated", report.repeated},
                      {"unfused", report.comparedUnfused},
                      {"rows", report.comparedRows}};
  j["elements"] = {{"median", report.medianElements},
                   {"total", report.totalElements},
                   {"unchecked", report.uncheckedElements}};
  j["multiply_adds"] = {{"median", report.medianMultiplyAdds},
                        {"total", report.totalMultiplyAdds}};
  j["near_ties"] = {{"indices", report.indexElements},
                    {"ties", report.nearTies}};
  j["thread_instructions"] = report.threadInstructions;
  j["mistrusted"] = report.isMistrusted();
  j["failures"] = json::array();
  for (const CampaignFailure &failure : report.failures)
    j["failures"].push_back({{"class", failure.failure.what.text()},
                             {"message", failure.failure.message},
                             {"blame", failure.failure.blame},
                             {"case", failure.smallest.line()},
                             {"found_as", failure.original.line()},
                             {"index", failure.index},
                             {"count", failure.count},
                             {"shrink_steps", failure.shrinkSteps},
                             {"minimal", failure.isMinimal}});
  j["failures_not_shrunk"] = report.failuresNotShrunk;
  j["stopped"] = report.wasStopped;
  return j;
}

template <typename... Args>
static std::string format(const char *pattern, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

static std::string count(int64_t number) {
  std::string digits = std::to_string(number), grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % 3 == 0)
      grouped += ' ';
    grouped += digits[i];
  }
  return grouped;
}

std::string tandem::harness::reportToText(const CampaignReport &report) {
  std::string text;
  for (const CampaignFailure &failure : report.failures) {
    text += "FAILED " + failure.failure.what.text() + "\n";
    text += "  " + failure.failure.message + "\n";
    if (!failure.failure.blame.empty())
      text += "  first bad stage: " + failure.failure.blame + "\n";
    text += format("  case %lld, %lld like it, shrunk in %d steps%s\n",
                   static_cast<long long>(failure.index),
                   static_cast<long long>(failure.count), failure.shrinkSteps,
                   failure.isMinimal ? "" : " (a limit was reached)");
    if (Result<CaseSpec> spec = specOf(failure.smallest)) {
      text += "  " + opsOf(spec->recipe) + ":";
      for (size_t i = 0; i < spec->inputs.size(); ++i)
        text += " " + spec->recipe.inputs[i].name + " " +
                spec->inputDesc(i).describe() + " of " +
                spec->inputs[i].values.kind;
      text += "\n";
    }
    text += "  tandem replay '" + failure.smallest.line() + "'\n";
  }
  if (report.failuresNotShrunk)
    text += count(report.failuresNotShrunk) + " further failures, not shrunk\n";
  text += "op                    cases  largest ratio   median\n";
  for (const auto &[op, tally] : report.ops)
    text += tally.maxRatio > 0
                ? format("%-18s %8lld  %13.3f  %7.3f\n", op.c_str(),
                         static_cast<long long>(tally.cases), tally.maxRatio,
                         tally.medianRatio)
                : format("%-18s %8lld  %13s\n", op.c_str(),
                         static_cast<long long>(tally.cases),
                         tally.alone ? "exact" : "in chains");
  if (!report.schedules.empty()) {
    std::string kernels;
    for (const auto &[family, number] : report.schedules)
      kernels += (kernels.empty() ? "" : ", ") + count(number) + " " + family;
    text += "kernels: " + kernels + "\n";
  }
  text += "elements a case: median " + count(report.medianElements) +
          ", total " + count(report.totalElements) + ", " +
          count(report.uncheckedElements) + " unchecked\n";
  text += "multiply-adds a product case: median " +
          count(report.medianMultiplyAdds) + ", total " +
          count(report.totalMultiplyAdds) + "\n";
  text += "also compared: " + count(report.exact) + " exact, " +
          count(report.repeated) + " twice, " + count(report.comparedUnfused) +
          " unfused, " + count(report.comparedRows) + " by one row\n";
  if (report.indexElements)
    text += format("near-ties: %lld of %lld indices\n",
                   static_cast<long long>(report.nearTies),
                   static_cast<long long>(report.indexElements));
  for (const auto &[reason, number] : report.reasons)
    text += "  " + count(number) + " " + reason + "\n";
  if (report.isMistrusted())
    text += "more than 20 % of the cases prove nothing\n";
  if (report.wasStopped)
    text += "stopped early\n";
  text += format(
      "%lld cases on %s, seed %llu:", static_cast<long long>(report.cases),
      report.device.c_str(), static_cast<unsigned long long>(report.seed));
  for (int i = 0; i < numVerdicts; ++i)
    text += format(" %lld %s", static_cast<long long>(report.verdicts[i]),
                   lower(verdictName(static_cast<Verdict>(i))).c_str());
  return text + format(", %.1f s, %.0f cases/s\n", report.seconds,
                       report.seconds > 0
                           ? static_cast<double>(report.cases) / report.seconds
                           : 0.0);
}
