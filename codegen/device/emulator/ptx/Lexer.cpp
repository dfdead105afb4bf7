//===- Lexer.cpp - PTX text to tokens -------------------------------------===//
#include "codegen/device/emulator/ptx/Lexer.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

Error emulator::errorAt(std::string_view place, int line,
                        std::string_view message) {
  std::string text(place);
  text += ":" + std::to_string(line) + ": ";
  text += message;
  return Error(std::move(text));
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isHex(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool startsWord(char c) {
  return isLetter(c) || c == '_' || c == '$' || c == '%';
}
static bool continuesWord(char c) {
  return isLetter(c) || isDigit(c) || c == '_' || c == '$';
}

namespace {
class Lexer {
public:
  Lexer(std::string_view text, std::string_view place)
      : text(text), place(place) {}

  Result<std::vector<Token>> run() {
    while (true) {
      size_t before = pos;
      if (!skipBlank())
        return errorAt(place, line, "comment is not closed");
      adjacent = pos == before && !tokens.empty();
      if (pos >= text.size())
        break;
      Result<void> done = one();
      if (!done)
        return done.error();
    }
    push(Token::Kind::End, pos);
    return std::move(tokens);
  }

private:
  char at(size_t i) const { return i < text.size() ? text[i] : '\0'; }

  void push(Token::Kind kind, size_t begin, uint64_t bits = 0) {
    tokens.push_back(
        {kind, line, adjacent, text.substr(begin, pos - begin), bits});
  }

  /// False when a comment does not end.
  bool skipBlank() {
    while (pos < text.size()) {
      char c = text[pos];
      if (c == '\n') {
        ++line;
        ++pos;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++pos;
      } else if (c == '/' && at(pos + 1) == '/') {
        while (pos < text.size() && text[pos] != '\n')
          ++pos;
      } else if (c == '/' && at(pos + 1) == '*') {
        size_t end = text.find("*/", pos + 2);
        if (end == std::string_view::npos)
          return false;
        for (; pos < end + 2; ++pos)
          line += text[pos] == '\n';
      } else {
        break;
      }
    }
    return true;
  }

  Result<void> one() {
    size_t begin = pos;
    char c = text[pos];
    if (startsWord(c)) {
      ++pos;
      while (continuesWord(at(pos)))
        ++pos;
      // A lone `_` is the sink, a word like any other.
      push(Token::Kind::Word, begin);
      return {};
    }
    if (c == '.' && continuesWord(at(pos + 1))) {
      ++pos;
      while (continuesWord(at(pos)) ||
             (at(pos) == ':' && at(pos + 1) == ':' &&
              continuesWord(at(pos + 2))) ||
             (at(pos) == ':' && at(pos - 1) == ':'))
        ++pos;
      push(Token::Kind::Dot, begin);
      return {};
    }
    if (isDigit(c))
      return number();
    if (c == '"') {
      size_t end = text.find_first_of("\"\n", pos + 1);
      if (end == std::string_view::npos || text[end] != '"')
        return errorAt(place, line, "string is not closed");
      pos = end;
      push(Token::Kind::String, begin + 1);
      ++pos;
      return {};
    }
    if (std::strchr("{}[]()<>,;:=+-!|@*/&~?^", c)) {
      ++pos;
      push(Token::Kind::Character, begin);
      return {};
    }
    std::string shown = c >= 32 && c < 127 ? std::string("'") + c + "'"
                                           : "byte " + std::to_string(c & 255);
    return errorAt(place, line, "character " + shown + " has no meaning here");
  }

  Result<void> number() {
    size_t begin = pos;
    char kind = at(pos + 1);
    if (at(pos) == '0' &&
        (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D')) {
      bool single = kind == 'f' || kind == 'F';
      size_t digits = single ? 8 : 16;
      pos += 2;
      size_t first = pos;
      while (isHex(at(pos)))
        ++pos;
      if (pos - first != digits)
        return errorAt(place, line,
                       "'" + std::string(text.substr(begin, pos - begin)) +
                           "' needs " + std::to_string(digits) +
                           " hexadecimal digits");
      uint64_t bits = std::strtoull(
          std::string(text.substr(first, digits)).c_str(), nullptr, 16);
      push(single ? Token::Kind::Float32 : Token::Kind::Float64, begin, bits);
      return {};
    }
    int base = 10;
    size_t first = pos;
    if (at(pos) == '0' && (kind == 'x' || kind == 'X')) {
      base = 16;
      first = pos += 2;
    } else if (at(pos) == '0' && (kind == 'b' || kind == 'B')) {
      base = 2;
      first = pos += 2;
    }
    while (base == 16 ? isHex(at(pos)) : isDigit(at(pos)))
      ++pos;
    bool isReal = base == 10 && ((at(pos) == '.' && isDigit(at(pos + 1))) ||
                                 at(pos) == 'e' || at(pos) == 'E');
    if (isReal) {
      std::string copy(text.substr(begin, 64));
      char *end = nullptr;
      double value = std::strtod(copy.c_str(), &end);
      pos = begin + static_cast<size_t>(end - copy.c_str());
      uint64_t bits = 0;
      std::memcpy(&bits, &value, 8);
      push(Token::Kind::Float64, begin, bits);
      return {};
    }
    std::string digits(text.substr(first, pos - first));
    if (base == 10 && digits.size() > 1 && digits[0] == '0')
      base = 8;
    char *end = nullptr;
    errno = 0;
    uint64_t bits = std::strtoull(digits.c_str(), &end, base);
    if (digits.empty() || *end || errno == ERANGE)
      return errorAt(place, line,
                     "'" + std::string(text.substr(begin, pos - begin)) +
                         "' is not a 64-bit integer");
    if (at(pos) == 'U')
      ++pos;
    if (continuesWord(at(pos)))
      return errorAt(place, line,
                     "'" + std::string(text.substr(begin, pos + 1 - begin)) +
                         "' is not a number");
    push(Token::Kind::Integer, begin, bits);
    return {};
  }

  std::string_view text;
  std::string_view place;
  std::vector<Token> tokens;
  size_t pos = 0;
  int line = 1;
  bool adjacent = false;
};
} // namespace

Result<std::vector<Token>> emulator::tokenize(std::string_view text,
                                              std::string_view place) {
  return Lexer(text, place).run();
}
