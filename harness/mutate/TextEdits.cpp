//===- TextEdits.cpp - Edits of kernel text by pattern --------------------===//
#include "harness/mutate/TextEdits.h"

#include <regex>

using namespace tandem;
using namespace tandem::harness;

static std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TextEdit tandem::harness::replaceLines(std::string pattern,
                                       std::string replacement, Where where) {
  const auto compiled = std::make_shared<std::regex>(pattern);
  return [=](const std::string &text) {
    std::vector<std::string> lines = linesOf(text);
    std::vector<size_t> matches;
    for (size_t i = 0; i < lines.size(); ++i)
      if (std::regex_search(lines[i], *compiled))
        matches.push_back(i);
    if (matches.empty())
      return text;
    if (where == Where::First)
      matches = {matches.front()};
    if (where == Where::Last)
      matches = {matches.back()};
    for (size_t i : matches)
      lines[i] = std::regex_replace(lines[i], *compiled, replacement);
    std::string edited;
    for (const std::string &line : lines)
      edited += line + "\n";
    return edited;
  };
}

TextEdit tandem::harness::inSequence(std::vector<TextEdit> edits) {
  return [=](const std::string &text) {
    std::string edited = text;
    for (const TextEdit &edit : edits)
      edited = edit(edited);
    return edited;
  };
}

std::string tandem::harness::nameOn(const std::string &text,
                                    const std::string &pattern) {
  const std::regex compiled(pattern);
  std::smatch parts;
  for (const std::string &line : linesOf(text))
    if (std::regex_search(line, parts, compiled))
      return parts[1];
  return "";
}
