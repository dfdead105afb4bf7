//===- Finding.cpp - A finding in words -----------------------------------===//
#include "codegen/device/Device.h"

using namespace tandem;

static std::string triple(const std::array<int64_t, 3> &values) {
  return std::to_string(values[0]) + "," + std::to_string(values[1]) + "," +
         std::to_string(values[2]);
}

std::string Finding::text() const {
  std::string result = kernel;
  if (ptxLine)
    result += ":" + std::to_string(ptxLine);
  result += ": " + kind + ": " + message + " (block " + triple(block) +
            " thread " + triple(thread) + ")";
  if (!allocation.empty())
    result += " at " + allocation;
  if (!source.empty())
    result += " from " + source;
  return result;
}
