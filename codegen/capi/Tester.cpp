//===- Tester.cpp - The tester and the command line in C ------------------===//
#include "codegen/capi/Objects.h"

#include "harness/tools/Command.h"

#include <iostream>
#include <sstream>

using namespace tandem;
using namespace tandem::capi;
using nlohmann::json;

extern "C" {

tandem_status tandem_fuzz(const char *text, char **report, char **error) {
  return guarded(error, [&] {
    json words = json::parse(text, nullptr, false);
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
    // 1 is a search that found something: a result, not an error.
    if (status > 1)
      return fail(TANDEM_INVALID, Error(err.str()), error);
    *report = give(out.str());
    return TANDEM_OK;
  });
}

int tandem_main(int argc, const char *const *argv) {
  try {
    std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
    return harness::runCommand(arguments, std::cout, std::cerr);
  } catch (const std::exception &e) {
    std::cerr << "tandem: " << e.what() << '\n';
    return 2;
  }
}

} // extern "C"
