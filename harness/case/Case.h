//===- Case.h - What replays a case -----------------------------*- C++ -*-===//
//
// A case is a choice sequence and the scope that its generator works in: one
// op, a chain of ops, or a given recipe. It prints as one line,
//
//   softmax:3:5.0.0.31        chain:3:2.0.7        @r.json:3:5.0.31
//   SCOPE : generator version : choices
//
// and that line regenerates it exactly. A case file is JSON: the spelt-out
// spec, and the line it came from (a regression keeps its meaning when a
// generator changes; only the line then goes stale).
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_CASE_CASE_H
#define TANDEM_HARNESS_CASE_CASE_H

#include "harness/case/CaseSpec.h"
#include "harness/case/Choices.h"

#include <optional>
#include <string>

namespace tandem::harness {

/// Raised whenever equal choices begin to mean another case.
inline constexpr int generatorVersion = 3;

struct Case {
  /// An op's mnemonic, `chain`, or `@FILE` for the recipe in FILE.
  std::string scope;
  ChoiceSequence choices;
  /// The recipe of an `@FILE` scope.
  std::optional<Recipe> recipe;

  std::string line() const;
  /// 12 hex digits of the line's content hash: the case's name in a corpus.
  std::string name() const;
};

/// Reads the one-line form. For `@FILE` the recipe is read too. Fails on an
/// unknown scope, another generator version, or a choice that is no number.
Result<Case> parseCaseLine(std::string_view line);

/// What a case file holds.
struct CaseFile {
  CaseSpec spec;
  /// The line that generated the spec; empty for one written by hand.
  std::string line;
  /// Why it is kept, in a sentence.
  std::string note;
  /// The class of the failure that it showed: stage, kind and op.
  std::string failure;
};

std::string writeCaseFile(const CaseFile &file);
Result<CaseFile> readCaseFile(std::string_view json, std::string_view file);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_CASE_CASE_H
