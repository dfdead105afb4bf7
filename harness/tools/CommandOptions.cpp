//===- CommandOptions.cpp - Options that several commands have ------------===//
#include "harness/tools/Subcommands.h"
#include "refops/core/Spelling.h"
#include "refops/core/TypeRules.h"

#include <charconv>
#include <limits>
#include <set>

using namespace tandem;
using namespace tandem::tools;

CLI::App *tandem::tools::addCommand(CLI::App &parent, const std::string &name,
                                    const std::string &summary,
                                    const std::string &example) {
  CLI::App *app = parent.add_subcommand(name, summary);
  app->footer("Example:\n  " + example);
  return app;
}

template <typename T>
static std::optional<T> wholeNumber(const std::string &text) {
  T value = 0;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

template <typename T>
static CLI::Option *addWhole(CLI::App *app, const std::string &name, T &value,
                             T least, T most, const std::string &help) {
  const std::string expected = "expected a whole number from " +
                               std::to_string(least) + " to " +
                               std::to_string(most) + ", got ";
  return app->add_option(name, value, help)
      ->check(CLI::Validator(
          [=](std::string &text) {
            const std::optional<T> number = wholeNumber<T>(text);
            const bool fits = number && *number >= least && *number <= most;
            return fits ? std::string() : expected + quote(text);
          },
          ""));
}

CLI::Option *tandem::tools::addNumber(CLI::App *app, const std::string &name,
                                      int &value, int least, int most,
                                      const std::string &help) {
  return addWhole(app, name, value, least, most, help);
}

CLI::Option *tandem::tools::addNumber(CLI::App *app, const std::string &name,
                                      int64_t &value, int64_t least,
                                      int64_t most, const std::string &help) {
  return addWhole(app, name, value, least, most, help);
}

CLI::Option *tandem::tools::addSeed(CLI::App *app, uint64_t &value,
                                    const std::string &help) {
  return addWhole(app, "--seed", value, uint64_t(0),
                  std::numeric_limits<uint64_t>::max(), help)
      ->capture_default_str();
}

CLI::Option *tandem::tools::addSeconds(CLI::App *app, double &value,
                                       const std::string &help) {
  constexpr double year = 31536000;
  return app->add_option("--seconds", value, help)
      ->check(CLI::Validator(
          [](std::string &text) {
            double number = 0;
            const auto [end, code] =
                std::from_chars(text.data(), text.data() + text.size(), number);
            // A NaN is not in any range.
            if (code == std::errc() && end == text.data() + text.size() &&
                number >= 0 && number <= year)
              return std::string();
            return "expected seconds from 0 to 31536000, got " + quote(text);
          },
          ""));
}

void tandem::tools::addDeviceOption(CLI::App *app, std::string &device) {
  app->add_option("--device", device,
                  "auto (the GPU where there is one), cuda, cuda:N or emulator")
      ->capture_default_str();
}

Result<std::map<std::string, std::string>>
tandem::tools::pairsFrom(const std::vector<std::string> &words,
                         const std::string &option) {
  std::map<std::string, std::string> pairs;
  for (const std::string &word : words) {
    const size_t at = word.find('=');
    if (at == std::string::npos || at == 0)
      return Error(option + ": expected NAME=VALUE, got '" + word + "'");
    pairs[word.substr(0, at)] = word.substr(at + 1);
  }
  return pairs;
}

Result<DimBindings>
tandem::tools::dimsFrom(const std::vector<std::string> &words,
                        const Recipe &recipe) {
  auto pairs = pairsFrom(words, "--dim");
  if (!pairs)
    return pairs.error();
  std::set<std::string> symbols;
  const auto visit = [&](const TensorType &type) {
    for (const Dim &dim : type.shape)
      if (dim.isSymbol())
        symbols.insert(dim.symbol());
  };
  for (const RecipeInput &input : recipe.inputs)
    visit(input.type);
  for (const RecipeOutput &output : recipe.outputs)
    visit(output.type);
  DimBindings dims;
  for (const auto &[name, text] : *pairs) {
    if (!symbols.contains(name)) {
      std::string known;
      for (const std::string &symbol : symbols)
        known += (known.empty() ? "; it has " : ", ") + symbol;
      return Error("--dim: the recipe has no symbol named " + quote(name) +
                   known);
    }
    const std::optional<int64_t> size = wholeNumber<int64_t>(text);
    if (!size || *size < 0 || *size > maxDim)
      return Error("--dim: " + name + ": expected a size from 0 to " +
                   std::to_string(maxDim) + ", got " + quote(text));
    dims[name] = *size;
  }
  return dims;
}
