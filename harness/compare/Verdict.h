//===- Verdict.h - What became of a case ------------------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_COMPARE_VERDICT_H
#define TANDEM_HARNESS_COMPARE_VERDICT_H

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace tandem::harness {

enum class Verdict : uint8_t {
  /// Every check was made and held.
  Passed,
  /// Something is wrong; `Failure` says what.
  Failed,
  /// Held, but most of the output is zero, NaN or one constant: a broken kernel
  /// could give the same.
  Mistrusted,
  /// For more than half of the elements no verdict is possible (an intermediate
  /// may overflow).
  Unchecked,
  /// Not run, for a reason.
  Skipped,
};
inline constexpr int numVerdicts = 5;
std::string_view verdictName(Verdict verdict);

/// Two failures of one class are taken for one bug.
struct FailureClass {
  /// compile, contract, launch, check (a device's finding), result, guard,
  /// consistency.
  std::string stage;
  /// What is wrong at that stage: `value`, `nan`, `uninitialised`, ...
  std::string kind;
  /// Mnemonics of the recipe.
  std::set<std::string> ops;

  /// `result value in softmax`.
  std::string text() const;
  bool operator==(const FailureClass &) const = default;
  auto operator<=>(const FailureClass &) const = default;
};

/// Whether a smaller case shows the same bug as \p original: same stage and
/// kind, and no op that \p original did not have.
bool isSameBug(const FailureClass &original, const FailureClass &smaller);

struct Failure {
  FailureClass what;
  /// One line: place, actual and expected.
  std::string message;
  /// `insn -> tile`, `tile -> PTX`, `ptxas or driver`; empty if not asked for.
  std::string blame;
};

/// How close one output came to its bound.
struct Receipt {
  std::string output;
  int64_t elements = 0;
  int64_t unchecked = 0;
  int64_t nearTies = 0;
  /// Whether any element had a bound above 0 (else bits were compared).
  bool hasBound = false;
  /// Largest |y - ref| / (bound + half a unit of the output), its place, and
  /// the numbers there.
  double ratio = 0;
  int64_t worst = -1;
  double got = 0, expected = 0, bound = 0;
};

} // namespace tandem::harness

#endif // TANDEM_HARNESS_COMPARE_VERDICT_H
