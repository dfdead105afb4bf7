//===- Lexer.h - PTX text to tokens -----------------------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_LEXER_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_LEXER_H

#include "refops/core/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::emulator {

struct Token {
  enum class Kind : uint8_t {
    Word,      // name, register, label, opcode
    Dot,       // `.global`, `.L1::no_allocate`, with the dot
    Integer,   // bits
    Float32,   // bits
    Float64,   // bits
    String,    // without the quotes
    Character, // one punctuation character
    End,
  };
  Kind kind = Kind::End;
  int line = 0;
  /// Whether no space separates it from the token before (`ld` `.global`).
  bool adjacent = false;
  std::string_view text;
  uint64_t bits = 0;

  bool is(char c) const {
    return kind == Kind::Character && text.size() == 1 && text[0] == c;
  }
};

/// Splits \p text, which must outlive the tokens. \p place begins messages:
/// `place:line: ...`. The last token is End.
Result<std::vector<Token>> tokenize(std::string_view text,
                                    std::string_view place);

/// `place:line: message`.
Error errorAt(std::string_view place, int line, std::string_view message);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_LEXER_H
