//===- PtxLint.h - What generated PTX must never contain --------*- C++ -*-===//
#ifndef TANDEM_TESTS_UNIT_CODEGEN_LOWER_PTXLINT_H
#define TANDEM_TESTS_UNIT_CODEGEN_LOWER_PTXLINT_H

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <string>
#include <unistd.h>

namespace tandem::test {

/// The first line that ptxas may contract (mul, add, sub, fma of floats without
/// a rounding modifier), that flushes subnormals, or that calls a function;
/// empty if there is none.
inline std::string firstBadLine(const std::string &ptx) {
  static const std::regex bad(
      R"(\b(add|sub|mul|fma|div|sqrt)\.(f32|f64|f16|bf16|f16x2|bf16x2)\b|)"
      R"(\.ftz\b|\bcall\b|\bdiv\.full\b|\.target [^\n]*debug)");
  std::smatch match;
  for (size_t at = 0; at < ptx.size();) {
    const size_t end = ptx.find('\n', at);
    const std::string line = ptx.substr(at, end - at);
    if (line.find("//") == std::string::npos &&
        std::regex_search(line, match, bad))
      return line;
    if (end == std::string::npos)
      break;
    at = end + 1;
  }
  return "";
}

/// Where ptxas is, or nothing.
inline std::string ptxasPath() {
  for (const char *path : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"})
    if (std::ifstream(path).good())
      return path;
  return "";
}

/// What `ptxas -v` says about \p ptx, or nothing without ptxas. Begins with
/// `failed` when it refuses the text.
inline std::string assemble(const std::string &ptx, const std::string &target) {
  const std::string ptxas = ptxasPath();
  if (ptxas.empty())
    return "";
  char name[] = "/tmp/tandem-ptx-XXXXXX";
  const int file = mkstemp(name);
  if (file < 0)
    return "failed: no temporary file";
  close(file);
  std::ofstream(name) << ptx;
  const std::string command =
      ptxas + " -v -arch=" + target + " " + name + " -o /dev/null 2>&1";
  std::string said;
  FILE *pipe = popen(command.c_str(), "r");
  char buffer[512];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe))
    said += buffer;
  const int code = pipe ? pclose(pipe) : -1;
  std::remove(name);
  return code == 0 ? said : "failed: " + said;
}

} // namespace tandem::test

#endif // TANDEM_TESTS_UNIT_CODEGEN_LOWER_PTXLINT_H
