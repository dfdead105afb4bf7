//===- Builtins.cpp - vprintf and __assertfail ----------------------------===//
#include "codegen/device/emulator/Calls.h"
#include "codegen/device/emulator/Regions.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

/// Where the bytes at a generic address are; null when they are not all there.
static const char *hostAt(const Exec &x, unsigned lane, uint64_t address,
                          unsigned bytes) {
  uint64_t window = address & windowMask, offset = address & ~windowMask;
  if (window == localWindow) {
    uint64_t most = x.cta->program->localBytes;
    return offset <= most && bytes <= most - offset
               ? x.cta->local.data() + localOffset(x, lane, offset)
               : nullptr;
  }
  if (window == sharedWindow)
    return x.cta->shared.holds(offset, bytes) ? x.cta->shared.host + offset
                                              : nullptr;
  const Region *region = findRegion(*x.launch, address, bytes);
  return region && !region->freed ? region->host + (address - region->base)
                                  : nullptr;
}

static std::string stringAt(const Exec &x, unsigned lane, uint64_t address) {
  std::string text;
  while (text.size() < 4096) {
    const char *c = hostAt(x, lane, address + text.size(), 1);
    if (!c)
      return text + "(unreadable)";
    if (!*c)
      break;
    text += *c;
  }
  return text;
}

/// Argument \p i of the call, from the caller's frame.
static uint64_t argument(const Exec &x, const Inst &inst, unsigned lane,
                         size_t i) {
  const Program &program = *x.cta->program;
  const ParamSlot &slot = program.calls[inst.target].args[i];
  uint64_t frame = x.lanes<uint64_t>(program.frame)[lane];
  uint64_t value = 0;
  std::memcpy(&value, &x.cta->local[localOffset(x, lane, frame + slot.offset)],
              std::min<uint64_t>(slot.bytes, 8));
  return value;
}

/// One conversion `%...` of C's printf with its argument at \p next in the
/// buffer; arguments are aligned to their size.
static std::string convertOne(const Exec &x, unsigned lane,
                              const std::string &spec, uint64_t buffer,
                              uint64_t &next) {
  char kind = spec.back();
  bool isWide = kind == 's' || kind == 'p' || std::strchr("eEfFgGaA", kind) ||
                spec.find('l') != std::string::npos ||
                spec.find('j') != std::string::npos ||
                spec.find('z') != std::string::npos;
  unsigned size = isWide ? 8 : 4;
  next = (next + size - 1) & ~uint64_t(size - 1);
  const char *at = hostAt(x, lane, buffer + next, size);
  next += size;
  if (!at)
    return "(unreadable)";
  uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  // The C library formats; only lengths are ours.
  std::string plain;
  for (char c : spec)
    if (!std::strchr("lhjzt", c))
      plain += c;
  char text[512];
  if (kind == 's')
    return stringAt(x, lane, bits);
  if (std::strchr("eEfFgGaA", kind)) {
    double value;
    std::memcpy(&value, &bits, 8);
    std::snprintf(text, sizeof text, plain.c_str(), value);
  } else if (kind == 'p') {
    std::snprintf(text, sizeof text, "0x%llx",
                  static_cast<unsigned long long>(bits));
  } else if (kind == 'c') {
    std::snprintf(text, sizeof text, plain.c_str(), static_cast<int>(bits));
  } else {
    plain.insert(plain.size() - 1, "ll");
    auto value = isWide || !std::strchr("di", kind)
                     ? static_cast<long long>(bits)
                     : static_cast<long long>(static_cast<int32_t>(bits));
    std::snprintf(text, sizeof text, plain.c_str(), value);
  }
  return text;
}

static std::string format(const Exec &x, unsigned lane,
                          const std::string &pattern, uint64_t buffer) {
  std::string result;
  uint64_t next = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      result += pattern[i];
      continue;
    }
    size_t end = pattern.find_first_not_of("-+ #0123456789.lhjzt", i + 1);
    if (end == std::string::npos || end - i > 30)
      return result + pattern.substr(i);
    if (pattern[end] == '%')
      result += '%';
    else if (std::strchr("diuoxXcspeEfFgGaA", pattern[end]))
      result +=
          convertOne(x, lane, pattern.substr(i, end + 1 - i), buffer, next);
    else
      result += pattern.substr(i, end + 1 - i);
    i = end;
  }
  return result;
}

void emulator::callPrintf(Exec &x, const Inst &inst) {
  constexpr size_t mostOutput = 1 << 20;
  const CallSite &site = x.cta->program->calls[inst.target];
  forEachLane(x.active, [&](unsigned l) {
    std::string text = format(x, l, stringAt(x, l, argument(x, inst, l, 0)),
                              argument(x, inst, l, 1));
    if (x.cta->output.size() < mostOutput)
      x.cta->output += text;
    if (!site.results.empty()) {
      const Program &program = *x.cta->program;
      uint64_t at = localOffset(
          x, l, x.lanes<uint64_t>(program.frame)[l] + site.results[0].offset);
      auto count = static_cast<int32_t>(text.size());
      std::memcpy(&x.cta->local[at], &count, 4);
      std::memset(&x.cta->localWritten[at], 1, 4);
    }
  });
}

void emulator::callAssertFail(Exec &x, const Inst &inst) {
  unsigned l = firstLane(x.active);
  report(x, inst, l, "assert",
         cat("assertion '", stringAt(x, l, argument(x, inst, l, 0)),
             "' failed at ", stringAt(x, l, argument(x, inst, l, 1)), ":",
             argument(x, inst, l, 2) & 0xffffffff, " in ",
             stringAt(x, l, argument(x, inst, l, 3))));
  x.cta->aborted = true;
}
