//===- WrongEngine.cpp - The real engine with a bug planted in it ---------===//
#include "tests/quality/WrongEngine.h"

#include "codegen/lower/TileToPtx.h"

#include <map>
#include <regex>

using namespace tandem;
using namespace tandem::harness;

Engine tandem::harness::withEditedTile(
    Engine engine, std::function<std::string(const std::string &)> edit) {
  return withEditedKernels(
      std::move(engine), [=](const Kernel &kernel) -> Result<Kernel> {
        Kernel edited = kernel;
        const std::string &tile = kernel.stages.at("tile");
        const std::string text = edit(tile);
        if (text == tile)
          return edited;
        Result<PtxOutput> ptx =
            tileTextToPtx(text, "edited", kernel.launch.target);
        if (!ptx)
          return ptx.error();
        edited.ptx = ptx->ptx;
        return edited;
      });
}

std::string tandem::harness::dropMasks(const std::string &tile) {
  // `%a = tile.mask %b ...`: the line goes, and %a is %b from there on.
  static const std::regex mask(R"(^\s*(%\w+) = tile\.mask (%\w+) .*$)");
  std::map<std::string, std::string> renamed;
  std::string text;
  auto resolve = [&](std::string name) {
    for (auto it = renamed.find(name); it != renamed.end();
         it = renamed.find(name))
      name = it->second;
    return name;
  };
  for (size_t at = 0; at < tile.size();) {
    size_t end = tile.find('\n', at);
    end = end == std::string::npos ? tile.size() : end;
    const std::string line = tile.substr(at, end - at);
    at = end + 1;
    std::smatch parts;
    if (std::regex_match(line, parts, mask)) {
      renamed[parts[1]] = parts[2];
      continue;
    }
    for (size_t i = 0; i < line.size();) {
      if (line[i] != '%') {
        text += line[i++];
        continue;
      }
      size_t last = i + 1;
      while (last < line.size() &&
             (std::isalnum(static_cast<unsigned char>(line[last])) ||
              line[last] == '_'))
        ++last;
      text += resolve(line.substr(i, last - i));
      i = last;
    }
    text += '\n';
  }
  return text;
}
