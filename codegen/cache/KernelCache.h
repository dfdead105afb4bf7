//===- KernelCache.h - Kernels by what they were made from ------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_CACHE_KERNELCACHE_H
#define TANDEM_CODEGEN_CACHE_KERNELCACHE_H

#include "codegen/schedule/Schedule.h"

#include <memory>

namespace tandem::codegen {

/// Everything that a kernel's text depends on, as text.
std::string kernelKeyText(const KernelSchedule &schedule,
                          const ScheduleInput &input);

/// A kernel as a cache entry, and back; nothing if the text does not fit.
std::string writeKernel(const Kernel &kernel);
std::optional<Kernel> readKernel(std::string_view text);

/// Kernels of this process, by key; safe from all threads.
std::shared_ptr<const Kernel> memoryFind(const std::string &key);
void memoryAdd(const std::string &key, std::shared_ptr<const Kernel> kernel);
void memoryClear();

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_CACHE_KERNELCACHE_H
