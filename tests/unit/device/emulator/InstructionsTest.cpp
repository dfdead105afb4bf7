//===- InstructionsTest.cpp - The list of instructions in docs/ -----------===//
//
// docs/emulator-instructions.md is the instruction table in words. Where it is
// not, this test says so; with TANDEM_UPDATE_DOCS=1 (scripts/update-docs) it
// writes the file.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Table.h"

#include "tests/unit/device/emulator/Harness.h"

#include <algorithm>
#include <cstdlib>
#include <map>

using namespace tandem;
using namespace tandem::test;

/// `.a|.b .c?` with its alternatives in code marks; `|` would end a cell.
static std::string cell(const std::string &pattern) {
  if (pattern.empty())
    return "";
  std::string text = "`";
  for (char c : pattern)
    text += c == '|' ? std::string("\\|") : std::string(1, c);
  return text + "`";
}

static std::string documentation() {
  std::map<std::string, std::vector<emulator::Row>> byOpcode;
  for (const emulator::Row &row : emulator::allRows())
    byOpcode[row.opcode].push_back(row);
  std::string text =
      "# PTX that the emulator runs\n\n"
      "Generated from the instruction table by `scripts/update-docs`; do not "
      "edit.\n\n"
      "A row is one form: modifiers in order, `.a|.b` is a choice, `?` means "
      "that it may be absent. What fits no row is refused when a module is "
      "loaded, with its line. Textures and surfaces are not emulated.\n\n"
      "| instruction | modifiers | remarks |\n|---|---|---|\n";
  for (const auto &[opcode, rows] : byOpcode)
    for (const emulator::Row &row : rows) {
      text += "| `";
      text += opcode;
      text += "` | ";
      text += cell(row.modifiers);
      text += " | ";
      text += row.note;
      text += " |\n";
    }
  return text;
}

TEST_SUITE("emulator instructions") {
  TEST_CASE("docs list what the table holds") {
    const std::string path = TANDEM_SOURCE_DIR "/docs/emulator-instructions.md";
    const std::string expected = documentation();
    if (std::getenv("TANDEM_UPDATE_DOCS"))
      std::ofstream(path) << expected;
    CHECK_MESSAGE(readFile(path) == expected,
                  "run scripts/update-docs: the instruction table has changed");
  }
}
