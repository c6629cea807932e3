// SPDX-License-Identifier: Apache-2.0
//
// Two panels side by side, and a legend at their right.
#include "bench/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

namespace meshmem::bench {
namespace {

constexpr double kPanelWidth = 400, kPanelHeight = 340, kTop = 74, kBottom = 56;
constexpr double kLeft = 74, kBetween = 84, kLegendGap = 22, kLegendRow = 20, kLetter = 6.6;
constexpr double kFloor = kTop + kPanelHeight;
constexpr int kMostTicks = 8;
// Okabe and Ito's colours, which colour-blind people can tell apart too, without the yellow.
constexpr std::array kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                "#56b4e9", "#e69f00", "#000000"};
// A circle, a square and a triangle, as paths around a point.
constexpr std::array kMarkers = {"m-3 0a3 3 0 0 0 6 0a3 3 0 0 0-6 0", "m-3-3h6v6h-6z",
                                 "m0-4l4 7h-8z"};

std::string escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&' || c == '<' || c == '>') {
      escaped += fmt::format("&#{};", static_cast<int>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// "64", "1K", "2M".
std::string size_label(double bytes) {
  const char* suffix = "";
  for (const char* larger : {"K", "M", "G", "T"})
    if (bytes >= 1024) {
      bytes /= 1024;
      suffix = larger;
    }
  return fmt::format("{:g}{}", bytes, suffix);
}

// Returns what a panel shows for a size and its time.
using Value = double (*)(double bytes, double us);

struct Panel {
  double x;  // pixels
  const char* title;
  Value value;
};

// A logarithmic axis: where values lie along it, from 0 to 1.
struct Axis {
  double low, high;
  std::vector<double> ticks{};
  double place(double value) const { return std::log(value / low) / std::log(high / low); }
};

std::pair<double, double> range_of(const std::vector<Curve>& curves, Value value) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Curve& curve : curves)
    for (const Point& point : curve.points)
      for (const double us : {point.us, point.least_us, point.most_us}) {
        least = std::min(least, value(point.bytes, us));
        most = std::max(most, value(point.bytes, us));
      }
  return {least, most};
}

// Ticks are at powers of two.
Axis axis_of_sizes(const std::vector<Curve>& curves) {
  const auto [least, most] = range_of(curves, [](double bytes, double) { return bytes; });
  const int first = static_cast<int>(std::floor(std::log2(least)));
  const int last = std::max(static_cast<int>(std::ceil(std::log2(most))), first + 1);
  Axis axis{std::exp2(first - 0.3), std::exp2(last + 0.3)};
  const int step = (last - first + kMostTicks - 1) / kMostTicks;
  for (int power = first; power <= last; power += step) axis.ticks.push_back(std::exp2(power));
  return axis;
}

// Ticks are at powers of ten and, where these are few, also at 2 and 5 times each.
Axis axis_of_values(const std::vector<Curve>& curves, Value value) {
  const auto [least, most] = range_of(curves, value);
  const double margin = most / least < 2 ? 1.6 : std::pow(most / least, 0.06) * 1.05;
  Axis axis{least / margin, most * margin};
  const int first = static_cast<int>(std::floor(std::log10(axis.low)));
  const int last = static_cast<int>(std::ceil(std::log10(axis.high)));
  for (int power = first; power <= last; ++power)
    for (const int digit : {1, 2, 5}) {
      const double tick = digit * std::pow(10, power);
      const bool is_shown = digit == 1 || last - first <= 3;
      if (is_shown && tick >= axis.low && tick <= axis.high) axis.ticks.push_back(tick);
    }
  return axis;
}

// How the curve of this number looks: its line, and its points.
std::string line_style(std::size_t number, bool is_beside) {
  return fmt::format("stroke='{}' stroke-width='1.8'{}", kColors[number % kColors.size()],
                     is_beside ? " stroke-dasharray='6 4'" : "");
}
std::string marker(std::size_t number, double x, double y) {
  return fmt::format("<path d='M{:.1f} {:.1f}{}' fill='{}'/>\n", x, y,
                     kMarkers[number / kColors.size() % kMarkers.size()],
                     kColors[number % kColors.size()]);
}

std::string draw_panel(const std::vector<Curve>& curves, const Panel& panel) {
  const Axis across = axis_of_sizes(curves), up = axis_of_values(curves, panel.value);
  const auto x_of = [&](double bytes) { return panel.x + kPanelWidth * across.place(bytes); };
  const auto y_of = [&](double value) { return kFloor - kPanelHeight * up.place(value); };
  std::string text = fmt::format(
      "<rect x='{0}' y='{1}' width='{2}' height='{3}' fill='none' stroke='#888'/>\n"
      "<text x='{4:.1f}' y='{5}' text-anchor='middle'>Size (bytes)</text>\n"
      "<text x='{0}' y='{6}'>{7}</text>\n",
      panel.x, kTop, kPanelWidth, kPanelHeight, panel.x + kPanelWidth / 2, kFloor + 40, kTop - 8,
      panel.title);
  for (const double tick : across.ticks)
    text += fmt::format(
        "<path d='M{0:.1f} {1}V{2}' stroke='#ddd'/>\n"
        "<text x='{0:.1f}' y='{3}' text-anchor='middle'>{4}</text>\n",
        x_of(tick), kTop, kFloor, kFloor + 18, size_label(tick));
  for (const double tick : up.ticks)
    text += fmt::format(
        "<path d='M{0} {1:.1f}H{2}' stroke='#ddd'/>\n"
        "<text x='{3}' y='{4:.1f}' text-anchor='end'>{5:g}</text>\n",
        panel.x, y_of(tick), panel.x + kPanelWidth, panel.x - 8, y_of(tick) + 4, tick);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::string line, markers, there, back;  // there and back: the edges of the band
    const auto place = [&](bool is_first, const Point& point, double us) {
      return fmt::format("{}{:.1f} {:.1f}", is_first ? "M" : "L", x_of(point.bytes),
                         y_of(panel.value(point.bytes, us)));
    };
    for (const Point& point : curves[i].points) {
      line += place(line.empty(), point, point.us);
      there += place(there.empty(), point, point.least_us);
      back.insert(0, place(false, point, point.most_us));
      markers += marker(i, x_of(point.bytes), y_of(panel.value(point.bytes, point.us)));
    }
    text += fmt::format(
        "<path class='band' d='{}{}Z' fill='{}' opacity='0.15'/>\n"
        "<path d='{}' fill='none' {}/>\n{}",
        there, back, kColors[i % kColors.size()], line, line_style(i, curves[i].is_beside),
        markers);
  }
  return text;
}

std::string draw_legend(const std::vector<Curve>& curves, double x) {
  std::string text;
  double y = kTop + 10;
  for (std::size_t i = 0; i < curves.size(); ++i, y += kLegendRow) {
    text += fmt::format("<path d='M{} {}h30' {}/>\n{}<text x='{}' y='{}'>{}</text>\n", x, y,
                        line_style(i, curves[i].is_beside), marker(i, x + 15, y), x + 38, y + 4,
                        escape(curves[i].label));
  }
  return text;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

double number_in(const std::string& cell) {
  double value = -1;
  const char* const end = cell.data() + cell.size();
  const auto [rest, error] = std::from_chars(cell.data(), end, value);
  if (error != std::errc() || rest != end || !(value >= 0) || std::isinf(value))
    throw std::runtime_error(fmt::format("'{}' is not a number", cell));
  return value;
}

}  // namespace

std::string draw(const std::string& title, const std::string& subtitle,
                 const std::vector<Curve>& curves) {
  std::vector<Curve> drawn;
  std::size_t letters = 0;
  for (Curve curve : curves) {
    std::erase_if(curve.points,
                  [](const Point& point) { return point.bytes <= 0 || point.least_us <= 0; });
    if (curve.points.empty()) continue;
    letters = std::max(letters, curve.label.size());
    drawn.push_back(std::move(curve));
  }
  if (drawn.empty()) throw std::runtime_error("there is nothing to draw that has a size");
  const double legend = kLeft + 2 * kPanelWidth + kBetween + kLegendGap;
  const auto length_of = [](std::size_t n) { return kLetter * static_cast<double>(n); };
  const double width = std::max(legend + 52 + length_of(letters),
                                kLeft + length_of(std::max(title.size(), subtitle.size())));
  const double height =
      std::max(kFloor + kBottom, kTop + kLegendRow * static_cast<double>(drawn.size() + 1));
  std::string text = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' "
      "viewBox='0 0 {0:.0f} {1:.0f}' font-family='DejaVu Sans, Arial, sans-serif' "
      "font-size='12' fill='#222'>\n<rect width='100%' height='100%' fill='white'/>\n"
      "<text x='{2}' y='26' font-size='16' font-weight='bold'>{3}</text>\n"
      "<text x='{2}' y='46' fill='#555'>{4}</text>\n",
      width, height, kLeft, escape(title), escape(subtitle));
  text += draw_panel(drawn,
                     {kLeft, "Time of one operation (us)", [](double, double us) { return us; }});
  text += draw_panel(drawn, {kLeft + kPanelWidth + kBetween, "Bandwidth (MB/s)",
                             [](double bytes, double us) { return bytes / us; }});
  return text + draw_legend(drawn, legend) + "</svg>\n";
}

std::vector<Curve> read_curves(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("it cannot be read");
  std::vector<Curve> curves;
  std::vector<std::string> head;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells = cells_of(line);
    if (head.empty()) {
      head = cells;
      for (const char* needed : {"bytes", "us"})
        if (std::find(head.begin(), head.end(), needed) == head.end())
          throw std::runtime_error("its head does not name the columns bytes and us");
      continue;
    }
    cells.resize(head.size());
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < head.size(); ++i) row[head[i]] = cells[i];
    std::string label = std::filesystem::path(path).stem().string();
    if (!row["operation"].empty()) label += ": " + row["operation"];
    if (!row["from"].empty()) label += " from " + row["from"];
    auto curve = std::find_if(curves.begin(), curves.end(),
                              [&](const Curve& known) { return known.label == label; });
    if (curve == curves.end()) curve = curves.insert(curve, {label, true, {}});
    Point point{number_in(row["bytes"]), number_in(row["us"])};
    if (!row["min_us"].empty()) point.least_us = number_in(row["min_us"]);
    if (!row["max_us"].empty()) point.most_us = number_in(row["max_us"]);
    curve->points.push_back(point);
  }
  if (curves.empty()) throw std::runtime_error("it has no figures");
  return curves;
}

}  // namespace meshmem::bench
