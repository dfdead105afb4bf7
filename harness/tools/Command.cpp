//===- Command.cpp - The tandem command as a function ---------------------===//
#include "harness/tools/Command.h"

#include "harness/tools/Mutate.h"

#include <algorithm>
#include <new>
#include <ostream>

using namespace tandem;
using namespace tandem::tools;

int tandem::harness::runCommand(const std::vector<std::string> &arguments,
                                std::ostream &out, std::ostream &err,
                                const PeerHost &peers) {
  const Console console(out, err);
  CLI::App app("Compiles recipes of LLM-inference ops to PTX and checks every "
               "kernel against a reference, on a GPU or on none.",
               "tandem");
  app.require_subcommand(1);
  app.set_version_flag("--version", "tandem 0.1.0");
  app.footer("`tandem COMMAND --help` shows an example of each.\n"
             "Exit codes: 0 nothing wrong, 1 something was found, 2 could not "
             "do it, 130 stopped by Ctrl-C.");
  const std::vector<Command> commands = {
      opsCommand(app),          verifyCommand(app), compileCommand(app),
      tools::runCommand(app),   fuzzCommand(app),   replayCommand(app),
      shrinkCommand(app),       blameCommand(app),  emulateCommand(app),
      mutateCommand(app),       planCommand(app),   cacheCommand(app),
      benchCommand(app, peers), tuneCommand(app)};
  // CLI11 reports by exceptions (and takes its words last first); they end
  // here.
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success &help) {
    app.exit(help, out, err);
    return out.flush() ? 0 : exitCannot;
  } catch (const CLI::ParseError &error) {
    complain("tandem: %s\n", error.what());
    return exitCannot;
  }
  for (const Command &command : commands) {
    if (!command.app->parsed())
      continue;
    Result<int> code = Error();
    try {
      code = command.run();
    } catch (const std::bad_alloc &) {
      code = Error("out of memory");
    }
    out.flush();
    if (const std::string reason = outputFailure(); !reason.empty()) {
      complain("tandem %s: standard output: cannot be written: %s\n",
               command.app->get_name().c_str(), reason.c_str());
      return exitCannot;
    }
    if (code)
      return *code;
    complain("tandem %s: %s\n", command.app->get_name().c_str(),
             code.error().text().c_str());
    return exitCannot;
  }
  return exitCannot;
}
