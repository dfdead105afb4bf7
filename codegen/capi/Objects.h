//===- Objects.h - Behind the handles of the C interface --------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_CAPI_OBJECTS_H
#define TANDEM_CODEGEN_CAPI_OBJECTS_H

#include "codegen/Compiler.h"
#include "refops/core/Result.h"
#include "tandem/tandem.h"

#include <mutex>
#include <new>
#include <nlohmann/json.hpp>

struct tandem_recipe {
  tandem::Recipe recipe;
};

struct tandem_program {
  std::shared_ptr<const tandem::Program> program;
};

struct tandem_device {
  std::unique_ptr<tandem::Device> device;
  /// Calls of several threads take turns: devices are for one.
  std::mutex mutex;
};

namespace tandem::capi {

/// Gives text to the caller of the C interface, who frees it.
char *give(std::string_view text);
inline char *giveJson(const nlohmann::json &j) {
  // Bytes that are not UTF-8 (from a driver, say) must not throw.
  return give(j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Stores \p error for the caller and returns \p status.
tandem_status fail(tandem_status status, const Error &message, char **error);

/// Runs \p body; no C++ exception (memory, a library's own) leaves it.
template <typename Body>
tandem_status guarded(char **error, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return fail(TANDEM_FAILED, Error("out of memory"), error);
  } catch (const std::exception &e) {
    return fail(TANDEM_FAILED, Error(e.what()), error);
  }
}

/// The views as the library has them. Fails on an unknown dtype, a negative
/// dim or stride, and more than maxRank dims; \p what names them in messages.
Result<std::vector<View>> viewsFrom(const tandem_view *views, size_t count,
                                    std::string_view what);

std::vector<TensorDesc> descsOf(const std::vector<View> &views);

/// Options of tandem_compile.
struct Options {
  CompileOptions compile;
  /// Whether the caller chose the target.
  bool hasTarget = false;
  DimBindings dims;
};
/// Fails on an unknown or mistyped option.
Result<Options> optionsFrom(const char *text);

} // namespace tandem::capi

#endif // TANDEM_CODEGEN_CAPI_OBJECTS_H
