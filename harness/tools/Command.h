//===- Command.h - The tandem command as a function -------------*- C++ -*-===//
//
// `build/bin/tandem`, libtandem.so (tandem_main, tandem_fuzz) and Python all
// call this, so that each does what the command line does.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_TOOLS_COMMAND_H
#define TANDEM_HARNESS_TOOLS_COMMAND_H

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace tandem::harness {

/// Peers of `tandem bench run` that live outside the library: a request and its
/// answer are JSON (docs/decisions/0008-one-timer.md).
using PeerHost = std::function<std::string(const std::string &request)>;

/// Runs `tandem ARGUMENTS...` (without the program's name). Results go to
/// \p out, messages and progress to \p err. Gives the exit status: 0 fine, 1
/// something was found or is missing, 2 could not run, 128 + N stopped by
/// signal N with nothing found.
int runCommand(const std::vector<std::string> &arguments, std::ostream &out,
               std::ostream &err, const PeerHost &peers = nullptr);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_TOOLS_COMMAND_H
