//===- Subcommands.h - What the subcommands share ---------------*- C++ -*-===//
#ifndef TANDEM_HARNESS_TOOLS_SUBCOMMANDS_H
#define TANDEM_HARNESS_TOOLS_SUBCOMMANDS_H

#include "harness/campaign/Campaign.h"
#include "harness/case/Case.h"
#include "harness/run/Runner.h"
#include "harness/tools/Command.h"
#include "harness/verify/Verify.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <atomic>
#include <iosfwd>

namespace tandem::tools {

/// Results and messages of the command that this thread runs (printf's format).
[[gnu::format(printf, 1, 2)]] void print(const char *format, ...);
[[gnu::format(printf, 1, 2)]] void complain(const char *format, ...);

/// Why what was printed did not arrive (a full disk, a closed pipe); empty if
/// it did. A command stops where it can, and its exit code is exitCannot.
const std::string &outputFailure();

inline constexpr int exitFound = 1;
inline constexpr int exitCannot = 2;

/// A subcommand does its work in `run` and gives an exit code; an Error means
/// exit code 2.
struct Command {
  CLI::App *app = nullptr;
  std::function<Result<int>()> run;
};

/// Sends what this thread prints to these streams until destroyed.
class Console {
public:
  Console(std::ostream &out, std::ostream &err);
  ~Console();

private:
  std::ostream *oldOut, *oldErr;
};

/// Adds a subcommand with one line of description and an example.
CLI::App *addCommand(CLI::App &parent, const std::string &name,
                     const std::string &summary, const std::string &example);

/// One a file of this folder.
Command opsCommand(CLI::App &parent);
Command verifyCommand(CLI::App &parent);
Command compileCommand(CLI::App &parent);
Command runCommand(CLI::App &parent);
Command fuzzCommand(CLI::App &parent);
Command replayCommand(CLI::App &parent);
Command shrinkCommand(CLI::App &parent);
Command blameCommand(CLI::App &parent);
Command emulateCommand(CLI::App &parent);
Command planCommand(CLI::App &parent);
Command cacheCommand(CLI::App &parent);
Command tuneCommand(CLI::App &parent);
Command benchCommand(CLI::App &parent, const harness::PeerHost &peers);

/// A whole number from \p least to \p most; everything else is refused with
/// `--cases: expected a whole number from 0 to 1000000000, got '-1'`.
CLI::Option *addNumber(CLI::App *app, const std::string &name, int &value,
                       int least, int most, const std::string &help);
CLI::Option *addNumber(CLI::App *app, const std::string &name, int64_t &value,
                       int64_t least, int64_t most, const std::string &help);
/// Any 64-bit seed.
CLI::Option *addSeed(CLI::App *app, uint64_t &value, const std::string &help);
/// A time limit: from 0 seconds to a year.
CLI::Option *addSeconds(CLI::App *app, double &value, const std::string &help);

/// `--device`, the same for every command that has one.
void addDeviceOption(CLI::App *app, std::string &device);
/// Repeated `NAME=VALUE` options as a map. Fails on a word without `=`.
Result<std::map<std::string, std::string>>
pairsFrom(const std::vector<std::string> &words, const std::string &option);
Result<DimBindings> dimsFrom(const std::vector<std::string> &words,
                             const Recipe &recipe);

/// The engine of this build and a device of the kind that `--device` names.
struct OpenedEngine {
  harness::Engine engine;
  std::unique_ptr<Device> device;
};
Result<OpenedEngine> openEngine(const std::string &device);

/// Reads a recipe from `.json` or `.mlir`.
Result<Recipe> loadRecipe(const std::string &path);

/// Writes to \p path, or to standard output when it is empty.
Result<void> emit(const std::string &path, std::string_view text);

/// Catches Ctrl-C and SIGTERM while it lives: the first asks the command to
/// finish, a second ends the process at once. Elsewhere (in Python, say) the
/// caller's own handlers are in force.
class StopRequest {
public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest &) = delete;
  StopRequest &operator=(const StopRequest &) = delete;

  const std::atomic<bool> &flag() const;
  /// 128 + the signal, as shells report it; 0 when nobody asked.
  int exitCode() const;
};

/// Draws or prints progress on standard error: a bar on a terminal, nothing
/// for the first two seconds; elsewhere a line every ten seconds.
class ProgressLine {
public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  void update(const harness::CampaignProgress &progress);

private:
  std::string what;
  bool isTerminal;
  bool isDrawn = false;
  double lastLine = 0;
};

/// The admission gate for one op of this build (cached).
harness::Admission admit(const OpInfo &op, const harness::Engine &engine,
                         Device &device, int cases = 40);
/// Fails naming the first op of \p recipe that is not admitted, and its failing
/// case.
Result<void> admitRecipe(const Recipe &recipe, const harness::Engine &engine,
                         Device &device);

/// How often each op was fuzzed on this machine since the cache was cleared.
std::map<std::string, int64_t> fuzzCounts();
void addFuzzCounts(const harness::CampaignReport &report);

/// A case from a file or from its one-line form.
struct LoadedCase {
  harness::CaseSpec spec;
  /// Where it has choices.
  std::optional<harness::Case> choices;
  std::string name;
};
Result<LoadedCase> loadCase(const std::string &text);

/// Prints what a case is and what became of it; gives the exit code.
int printOutcome(const LoadedCase &loaded, const harness::Outcome &outcome,
                 bool asJson);

} // namespace tandem::tools

#endif // TANDEM_HARNESS_TOOLS_SUBCOMMANDS_H
