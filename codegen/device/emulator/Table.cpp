//===- Table.cpp - The instruction table ----------------------------------===//
#include "codegen/device/emulator/Table.h"

#include <unordered_map>

using namespace tandem::emulator;

namespace {
struct Element {
  std::vector<std::string_view> choices;
  bool isOptional = false;
};
struct CompiledRow {
  Row row;
  std::vector<Element> elements;
};

std::vector<Element> compilePattern(std::string_view pattern) {
  std::vector<Element> elements;
  while (!pattern.empty()) {
    size_t end = pattern.find(' ');
    std::string_view text = pattern.substr(0, end);
    pattern.remove_prefix(end == std::string_view::npos ? pattern.size()
                                                        : end + 1);
    if (text.empty())
      continue;
    Element element;
    if (text.back() == '?') {
      element.isOptional = true;
      text.remove_suffix(1);
    }
    while (!text.empty()) {
      size_t bar = text.find('|');
      element.choices.push_back(text.substr(0, bar));
      text.remove_prefix(bar == std::string_view::npos ? text.size() : bar + 1);
    }
    elements.push_back(std::move(element));
  }
  return elements;
}

/// Whether \p text is the choice, whose `#`, if any, is a number there.
bool isChoice(std::string_view choice, std::string_view text) {
  size_t at = choice.find('#');
  if (at == std::string_view::npos)
    return choice == text;
  std::string_view before = choice.substr(0, at), after = choice.substr(at + 1);
  if (text.size() <= before.size() + after.size() ||
      !text.starts_with(before) || !text.ends_with(after))
    return false;
  std::string_view number =
      text.substr(at, text.size() - before.size() - after.size());
  return number.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Matches modifiers [m, end) against elements [e, end), with backtracking: an
/// optional element may take a modifier that a later one needs.
bool matchFrom(const std::vector<Element> &elements, size_t e,
               const std::vector<std::string> &modifiers, size_t m,
               Match &match) {
  if (e == elements.size())
    return m == modifiers.size();
  const Element &element = elements[e];
  if (m < modifiers.size())
    for (std::string_view choice : element.choices)
      if (isChoice(choice, modifiers[m])) {
        match.parts[e] = modifiers[m];
        if (matchFrom(elements, e + 1, modifiers, m + 1, match))
          return true;
        match.parts[e] = {};
      }
  return element.isOptional && matchFrom(elements, e + 1, modifiers, m, match);
}

using CompiledTable =
    std::unordered_map<std::string_view, std::vector<CompiledRow>>;

const CompiledTable &compiledTable() {
  static const CompiledTable table = [] {
    CompiledTable built;
    for (const Row &row : allRows())
      built[row.opcode].push_back({row, compilePattern(row.modifiers)});
    return built;
  }();
  return table;
}
} // namespace

std::vector<Row> tandem::emulator::allRows() {
  std::vector<Row> rows;
  for (std::span<const Row> family :
       {moveRows(),          integerRows(),      bitRows(),
        bitFieldRows(),      floatRows(),        halfRows(),
        approximateRows(),   compareRows(),      convertRows(),
        packedConvertRows(), memoryRows(),       atomicRows(),
        asyncRows(),         warpRows(),         matrixRows(),
        controlRows(),       callRows(),         videoRows(),
        clusterRows(),       vectorAtomicRows(), compareHalfRows(),
        mbarrierRows(),      bulkRows(),         wgmmaRows(),
        asyncFenceRows(),    storeAsyncRows(),   matrixFormRows()})
    rows.insert(rows.end(), family.begin(), family.end());
  return rows;
}

const Row *tandem::emulator::findRow(const Instruction &instruction,
                                     Match &match) {
  auto found = compiledTable().find(instruction.opcode);
  if (found == compiledTable().end())
    return nullptr;
  for (const CompiledRow &candidate : found->second) {
    match.parts.assign(candidate.elements.size(), {});
    if (matchFrom(candidate.elements, 0, instruction.modifiers, 0, match))
      return &candidate.row;
  }
  return nullptr;
}
