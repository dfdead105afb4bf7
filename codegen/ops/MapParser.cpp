//===- MapParser.cpp - The kernels' reading of MAP's expressions ----------===//
//
// Dijkstra's shunting-yard: values wait on one stack, operators and open
// parentheses on the other, and an operator is applied when one that binds no
// tighter follows it.
//
//===----------------------------------------------------------------------===//
#include "codegen/ops/MapParser.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::codegen;

namespace {
/// How tightly operators bind; an open parenthesis holds everything back.
enum Binding { Open, Relation, Sum, Product, Sign };

struct Waiting {
  /// For a parenthesis the function before it, or empty.
  std::string_view name;
  Binding binding = Open;
  /// How many values there were before it.
  size_t base = 0;
};

class Yard {
public:
  explicit Yard(std::string_view text) : text(text) {}

  std::vector<MapNode> run() {
    while (skipSpace(), !text.empty())
      if (!(wantsValue ? shiftValue() : shiftOperator()))
        return {};
    if (wantsValue || !applyAbove(Open) || !waiting.empty() ||
        values.size() != 1)
      return {};
    return std::move(nodes);
  }

private:
  void skipSpace() {
    while (!text.empty() && llvm::isSpace(text.front()))
      text.remove_prefix(1);
  }

  std::string_view take(size_t length) {
    const std::string_view taken = text.substr(0, length);
    text.remove_prefix(length);
    return taken;
  }

  /// Digits with a point, and an exponent if digits follow the `e`.
  size_t numberLength() const {
    auto digits = [this](size_t at) {
      while (at < text.size() && llvm::isDigit(text[at]))
        ++at;
      return at;
    };
    size_t end = digits(0);
    if (end < text.size() && text[end] == '.')
      end = digits(end + 1);
    if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
      size_t power = end + 1;
      if (power < text.size() && (text[power] == '+' || text[power] == '-'))
        ++power;
      if (digits(power) > power)
        end = digits(power);
    }
    return end;
  }

  void push(MapNode node) {
    values.push_back(nodes.size());
    nodes.push_back(std::move(node));
  }

  /// What can stand where a value is due.
  bool shiftValue() {
    const char c = text.front();
    if (c == '-') {
      take(1);
      waiting.push_back({"neg", Sign, values.size()});
      return true;
    }
    if (c == '(') {
      take(1);
      waiting.push_back({"", Open, values.size()});
      return true;
    }
    if (llvm::isDigit(c) || c == '.') {
      MapNode node;
      const std::string_view digits = take(numberLength());
      llvm::APFloat number(llvm::APFloat::IEEEsingle());
      llvm::Expected<llvm::APFloat::opStatus> read =
          number.convertFromString(digits, llvm::APFloat::rmNearestTiesToEven);
      if (!read) {
        llvm::consumeError(read.takeError());
        return false;
      }
      node.number = number.convertToFloat();
      push(std::move(node));
      wantsValue = false;
      return true;
    }
    const size_t length = static_cast<size_t>(
        std::find_if_not(text.begin(), text.end(),
                         [](char l) { return l >= 'a' && l <= 'z'; }) -
        text.begin());
    if (length == 0)
      return false;
    const std::string_view name = take(length);
    if (length > 1) {
      skipSpace();
      if (text.empty() || text.front() != '(')
        return false;
      take(1);
      waiting.push_back({name, Open, values.size()});
      return true;
    }
    MapNode node;
    node.kind = MapNode::Kind::Operand;
    node.operand = static_cast<size_t>(name[0] - 'a');
    push(std::move(node));
    wantsValue = false;
    return true;
  }

  /// What can stand behind a value.
  bool shiftOperator() {
    const char c = text.front();
    if (c == ')' || c == ',') {
      take(1);
      if (!applyAbove(Open) || waiting.empty())
        return false;
      wantsValue = c == ',';
      return c == ',' ? !waiting.back().name.empty() : close();
    }
    const bool isSum = c == '+' || c == '-', isProduct = c == '*' || c == '/';
    if (!isSum && !isProduct && c != '<' && c != '>' && c != '=' && c != '!')
      return false;
    const bool isLong =
        !isSum && !isProduct && text.size() > 1 && text[1] == '=';
    const std::string_view name = take(isLong ? 2 : 1);
    const Binding binding = isSum ? Sum : isProduct ? Product : Relation;
    // Equal ones are applied from left to right.
    if (!applyAbove(static_cast<Binding>(binding - 1)))
      return false;
    waiting.push_back({name, binding, values.size()});
    wantsValue = true;
    return true;
  }

  /// Replaces the values from number \p first on by a call of them.
  void call(std::string_view name, size_t first) {
    MapNode node;
    node.kind = MapNode::Kind::Call;
    node.name = name;
    node.args.assign(values.begin() + static_cast<std::ptrdiff_t>(first),
                     values.end());
    values.resize(first);
    push(std::move(node));
  }

  /// Applies waiting operators that bind tighter than \p limit.
  bool applyAbove(Binding limit) {
    while (!waiting.empty() && waiting.back().binding > limit) {
      const size_t count = waiting.back().binding == Sign ? 1 : 2;
      if (values.size() < count)
        return false;
      const std::string_view name = waiting.back().name;
      waiting.pop_back();
      call(name, values.size() - count);
    }
    return true;
  }

  bool close() {
    const Waiting open = waiting.back();
    waiting.pop_back();
    if (values.size() <= open.base)
      return false;
    if (!open.name.empty())
      call(open.name, open.base);
    return values.size() == open.base + 1;
  }

  std::string_view text;
  bool wantsValue = true;
  std::vector<MapNode> nodes;
  std::vector<size_t> values;
  std::vector<Waiting> waiting;
};
} // namespace

std::vector<MapNode> codegen::parseMapText(std::string_view text) {
  return Yard(text).run();
}
