//===- Table.cpp - A suite's results on a terminal ------------------------===//
#include "harness/bench/RunSuite.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

using namespace tandem;
using namespace tandem::bench;
using nlohmann::json;

static std::string format(const char *pattern, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), pattern, value);
  return text.data();
}

/// Three digits before or behind the point.
static std::string microseconds(double us) {
  return format(us < 10 ? "%.2f" : us < 100 ? "%.1f" : "%.0f", us);
}

static std::string padded(const std::string &text, size_t width) {
  return text.size() >= width ? text
                              : std::string(width - text.size(), ' ') + text;
}

/// A word for the first sentence of a long error.
static std::string firstLine(const std::string &text, size_t most) {
  std::string line = text.substr(0, text.find('\n'));
  if (line.size() > most)
    line = line.substr(0, most - 3) + "...";
  return line;
}

namespace {
struct Extremes {
  double low = 0, high = 0;
  void add(const json &range) {
    if (!range.is_array() || range.size() != 2)
      return;
    low = low == 0 ? range[0].get<double>()
                   : std::min(low, range[0].get<double>());
    high = std::max(high, range[1].get<double>());
  }
};
} // namespace

/// Peers that any row has a result or an error of, in the rows' order.
static std::vector<std::string> peersOf(const json &document) {
  std::vector<std::string> peers;
  for (const json &row : document.at("rows"))
    for (const json &one : row.value("contenders", json::array()))
      if (!row.contains("kind") && one.value("kind", "") == "peer" &&
          std::ranges::find(peers, one.value("name", "")) == peers.end())
        peers.push_back(one.value("name", ""));
  return peers;
}

/// A row that measures the host: one line a contender.
static std::string hostLines(const json &row, size_t width,
                             std::string &notes) {
  const std::string name = row.value("name", "");
  std::string lines;
  if (row.contains("error"))
    notes += "  " + name + ": " + firstLine(row.value("error", ""), 160) + "\n";
  for (const json &one : row.value("contenders", json::array())) {
    lines += name + std::string(width - name.size(), ' ');
    if (one.contains("error"))
      notes += "  " + name + ": " + one.value("name", "") + ": " +
               firstLine(one.value("error", ""), 160) + "\n";
    const auto number = [&](const char *member, const char *pattern) {
      return one.contains(member)
                 ? padded(format(pattern, one[member].get<double>()), 12)
                 : std::string();
    };
    lines += number("ns", "%.0f ns") + number("above_ns", "%+.0f ns") +
             number("ms", "%.2f ms") + number("first_ms", " (%.1f first)") +
             "  " + one.value("name", "") + "\n";
  }
  return lines;
}

static std::string rowLine(const json &row,
                           const std::vector<std::string> &peers, size_t width,
                           std::string &notes) {
  const std::string name = row.value("name", "");
  std::string line = name + std::string(width - name.size(), ' ');
  const auto note = [&](const std::string &text) {
    notes += "  " + name + ": " + firstLine(text, 160) + "\n";
  };
  if (row.contains("error"))
    note(row.value("error", ""));
  if (row.contains("compare_error"))
    note(row.value("compare_error", ""));
  const auto number = [&](const char *member, const char *pattern) {
    return row.contains(member) ? format(pattern, row[member].get<double>())
                                : std::string("-");
  };
  line += padded(
      row.contains("us") ? microseconds(row["us"].get<double>()) : "-", 8);
  line += padded(number("share", "%.3f"), 7);
  line += padded(row.value("flops", int64_t(0)) > 0 &&
                         row.value("ceiling", "") == "flops"
                     ? number("tflop_per_s", "%.0f")
                     : number("gb_per_s", "%.0f"),
                 7);
  for (const std::string &peer : peers) {
    std::string text = "-";
    for (const json &one : row.value("contenders", json::array())) {
      if (one.value("kind", "") != "peer" || one.value("name", "") != peer)
        continue;
      if (one.contains("error")) {
        text = "failed";
        note(peer + ": " + one.value("error", ""));
      } else if (one.contains("ratio")) {
        text = format("%.3f", one["ratio"].get<double>());
      } else if (one.contains("us")) {
        text = microseconds(one["us"].get<double>()) + "us";
      }
      // Rounding of 16-bit outputs is 4e-3 at most.
      const json difference = one.value("difference", json());
      if (difference.is_string() ||
          (difference.is_number() && difference.get<double>() > 0.02)) {
        text += "!";
        note(peer + " differs from our result by " +
             (difference.is_string()
                  ? difference.get<std::string>()
                  : format("%.2g", difference.get<double>())));
      }
    }
    line += padded(text, 9);
  }
  for (const json &one : row.value("contenders", json::array())) {
    if (one.value("kind", "") == "control" && one.contains("ratio"))
      line += padded(format("%.3f", one["ratio"].get<double>()), 8);
    if (one.value("kind", "") == "ours" && one.contains("error"))
      note(one.value("name", "") + ": " + one.value("error", ""));
  }
  if (row.contains("reached"))
    line += row["reached"].get<bool>() ? "  reached" : "  below";
  const json sensors = row.value("sensors", json());
  if (sensors.is_object() && sensors.value("slowdown", false)) {
    line += "  REFUSED";
    note("refused, the GPU slowed down: " + sensors["reasons"].dump());
  }
  return line + "\n";
}

/// A bar a row: the share of the ceiling, or the ratio to the best peer, with
/// the reach as `|`. Forty characters are 1.
static std::string plotOf(const json &document, size_t width) {
  constexpr double unit = 40, most = 1.25;
  std::string text;
  for (const json &row : document.at("rows")) {
    const bool hasShare = row.contains("share");
    if (row.contains("kind") || !(hasShare || row.contains("ratio")))
      continue;
    const double value = row[hasShare ? "share" : "ratio"].get<double>();
    std::string bar(static_cast<size_t>(std::min(value, most) * unit + 0.5),
                    '#');
    bar.resize(static_cast<size_t>(most * unit), ' ');
    const double reach =
        row.value(hasShare ? "reach_share" : "reach_ratio", 0.0);
    if (reach > 0 && reach < most)
      bar[static_cast<size_t>(reach * unit)] = '|';
    const std::string name = row.value("name", "");
    text += name + std::string(width - name.size() + 2, ' ') + bar +
            format("%.3f", value) +
            (hasShare ? " of the ceiling\n" : " x best peer\n");
  }
  return text;
}

std::string tandem::bench::tableOf(const json &document) {
  const std::vector<std::string> peers = peersOf(document);
  size_t width = 12;
  for (const json &row : document.at("rows"))
    width = std::max(width, row.value("name", "").size());
  std::string text =
      document.value("suite", "") + ": " + document.value("title", "") + "\n";
  const bool hasKernels =
      std::ranges::any_of(document.at("rows"), [](const json &row) {
        return !row.contains("kind");
      });
  if (hasKernels) {
    text += std::string(width, ' ') + padded("us", 8) + padded("share", 7) +
            padded("rate", 7);
    for (const std::string &peer : peers)
      text += padded(peer, 9);
    text += padded("control", 8) + "\n";
  }
  std::string notes;
  Extremes clock, power, heat;
  std::set<std::string> reasons;
  for (const json &row : document.at("rows")) {
    text += row.contains("kind") ? hostLines(row, width, notes)
                                 : rowLine(row, peers, width, notes);
    const json sensors = row.value("sensors", json());
    if (!sensors.is_object())
      continue;
    clock.add(sensors["sm_mhz"]);
    power.add(sensors["watts"]);
    heat.add(sensors["celsius"]);
    for (const json &reason : sensors["reasons"])
      reasons.insert(reason.get<std::string>());
  }
  if (!notes.empty())
    text += "notes\n" + notes;
  const json device = document.value("device", json::object());
  text += device.value("name", "") + ", " + device.value("driver", "");
  std::string words;
  for (const std::string &reason : reasons)
    words += (words.empty() ? "" : ", ") + reason;
  if (clock.high > 0)
    text += "; SM " + format("%.0f", clock.low) + "-" +
            format("%.0f MHz, ", clock.high) + format("%.0f", power.low) + "-" +
            format("%.0f W, at most ", power.high) +
            format("%.0f C; clocks held by: ", heat.high) +
            (words.empty() ? "nothing" : words);
  text += "\n";
  if (hasKernels)
    text +=
        "us: our median; share: of the ceiling's time; rate: GB/s, for gemm "
        "TFLOP/s; peers: their time over ours\n" +
        plotOf(document, width);
  return text;
}
