//===- Probe.cpp - One instruction that hardware is asked about -----------===//
#include "harness/hardware/Probe.h"

#include <algorithm>
#include <sstream>

using namespace tandem::hardware;

int tandem::hardware::bitsOfFormat(const std::string &format) {
  if (format == "p")
    return 1;
  if (format == "f16" || format == "bf16" || format == "u16" ||
      format == "e4m3x2" || format == "e5m2x2")
    return 16;
  if (format == "f64" || format == "u64")
    return 64;
  return 32;
}

int Probe::inputWords() const {
  if (exhaustiveBits)
    return 0;
  int words = 0;
  for (const std::string &format : inputs)
    words += std::max(1, bitsOfFormat(format) / 32);
  return words;
}

int Probe::stratumBits() const {
  if (exhaustiveBits)
    return exhaustiveBits - strataBits();
  // About 2^24 words of input in all.
  const int words = inputWords();
  int bits = 14;
  while (bits > 9 && words << bits > 1 << 16)
    --bits;
  return bits;
}

std::vector<std::string>
tandem::hardware::expandBraces(const std::string &pattern) {
  const size_t open = pattern.find('{');
  if (open == std::string::npos)
    return {pattern};
  const size_t close = pattern.find('}', open);
  std::vector<std::string> all;
  std::stringstream choices(pattern.substr(open + 1, close - open - 1) + ",");
  for (std::string choice; std::getline(choices, choice, ',');)
    for (const std::string &rest : expandBraces(pattern.substr(close + 1)))
      all.push_back(pattern.substr(0, open) + choice + rest);
  return all;
}

Probe tandem::hardware::scalarProbe(const std::string &instruction,
                                    const std::string &signature,
                                    const std::string &operands) {
  Probe probe;
  probe.name = instruction;
  std::stringstream words(signature);
  bool isAll = false, isResult = false;
  for (std::string word; words >> word;) {
    if (word == "all")
      isAll = true;
    else if (word == "->")
      isResult = true;
    else if (isResult)
      probe.output = word;
    else
      probe.inputs.push_back(word);
  }
  if (isAll)
    probe.exhaustiveBits = bitsOfFormat(probe.inputs[0]);
  probe.outputWords = bitsOfFormat(probe.output) == 64 ? 2 : 1;
  std::string text = operands;
  if (text.empty()) {
    text = "%y";
    for (size_t i = 0; i < probe.inputs.size(); ++i)
      text += ", %x" + std::to_string(i);
  }
  probe.body = text.find(';') == std::string::npos
                   ? instruction + " " + text + ";\n"
                   : text;
  return probe;
}

const std::vector<Probe> &tandem::hardware::allProbes() {
  static const std::vector<Probe> probes = [] {
    std::vector<Probe> all;
    addScalarProbes(all);
    addApproximateProbes(all);
    addMatrixProbes(all);
    addWarpgroupProbes(all);
    return all;
  }();
  return probes;
}
