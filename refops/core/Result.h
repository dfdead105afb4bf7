//===- Result.h - A value or the reasons why there is none ------*- C++ -*-===//
//
// Every fallible function outside MLIR passes returns a Result. `core/` knows
// no LLVM, so that references and harness can be built and read without it;
// this is its llvm::Expected. Nothing throws across a library boundary.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_REFOPS_CORE_RESULT_H
#define TANDEM_REFOPS_CORE_RESULT_H

#include <cassert>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tandem {

/// One or more messages of the form `place: what is wrong, actual and
/// expected`: lower case, no period, quotes around the user's own text.
struct Error {
  std::vector<std::string> messages;

  Error() = default;
  explicit Error(std::string message) {
    messages.push_back(std::move(message));
  }
  explicit Error(std::vector<std::string> all) : messages(std::move(all)) {}

  /// All messages, one a line, without a final newline.
  std::string text() const {
    std::string joined;
    for (const std::string &message : messages)
      joined += (joined.empty() ? "" : "\n") + message;
    return joined;
  }
};

/// Holds a T, or an Error when there is none.
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return value(); }
  const T &operator*() const { return const_cast<Result *>(this)->value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &const_cast<Result *>(this)->value(); }
  const Error &error() const {
    assert(state.index() == 1 && "a result with a value has no error");
    return std::get<1>(state);
  }
  /// Moves the value out; only when there is one.
  T take() { return std::move(value()); }

private:
  T &value() {
    assert(state.index() == 0 && "a failed result has no value");
    return std::get<0>(state);
  }
  std::variant<T, Error> state;
};

template <>
class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failure(std::move(error)), failed(true) {}
  explicit operator bool() const { return !failed; }
  const Error &error() const {
    assert(failed && "a successful result has no error");
    return failure;
  }

private:
  Error failure;
  bool failed = false;
};

} // namespace tandem

#endif // TANDEM_REFOPS_CORE_RESULT_H
