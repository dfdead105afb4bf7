//===- Tester.cpp - The tester and the command line in C ------------------===//
#include "codegen/capi/Objects.h"

#include "harness/tools/Command.h"
#include "refops/core/JsonText.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <iostream>
#include <sstream>

using namespace tandem;
using namespace tandem::capi;
using nlohmann::json;

extern "C" {

tandem_status tandem_fuzz(const char *text, char **report, char **error) {
  return guarded(error, [&] {
    const Result<json> parsed = parseJson(text, "arguments");
    if (!parsed)
      return fail(TANDEM_INVALID, parsed.error(), error);
    const json &words = *parsed;
    bool fits = words.is_array();
    for (const json &word : words)
      fits = fits && word.is_string();
    if (!fits)
      return fail(TANDEM_INVALID,
                  Error("arguments: not a JSON list of strings"), error);
    std::vector<std::string> arguments = {"fuzz"};
    for (const json &word : words)
      arguments.push_back(word.get<std::string>());
    arguments.push_back("--json");
    std::ostringstream out, err;
    int status = harness::runCommand(arguments, out, err);
    // 1 is a search that found something, and one that Ctrl-C stopped says so:
    // results, not errors.
    if (status == 2)
      return fail(TANDEM_INVALID, Error(err.str()), error);
    *report = give(out.str());
    return TANDEM_OK;
  });
}

int tandem_main(int argc, const char *const *argv) {
  return tandem_main_with_peers(argc, argv, nullptr, nullptr);
}

int tandem_main_with_peers(int argc, const char *const *argv,
                           tandem_peers peers, void *context) {
  // A closed pipe is an error that the command reports, not its death.
  std::signal(SIGPIPE, SIG_IGN);
  // Else the first file that is opened becomes standard output. Read-only, so
  // that printing fails as it does on a closed one.
  for (int standard = 0; standard < 3; ++standard)
    if (fcntl(standard, F_GETFD) < 0 && errno == EBADF)
      (void)!open("/dev/null", O_RDONLY);
  try {
    std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
    harness::PeerHost host;
    if (peers)
      host = [peers, context](const std::string &request) {
        const char *answer = peers(context, request.c_str());
        return std::string(answer ? answer : "");
      };
    return harness::runCommand(arguments, std::cout, std::cerr, host);
  } catch (const std::exception &e) {
    std::cerr << "tandem: " << e.what() << '\n';
    return 2;
  }
}

} // extern "C"
