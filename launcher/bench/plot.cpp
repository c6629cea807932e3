// SPDX-License-Identifier: Apache-2.0
//
// Two panels side by side, and a legend at their right.
#include "bench/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace meshmem::bench {
namespace {

constexpr double kPanelWidth = 400, kPanelHeight = 340, kTop = 74, kBottom = 56;
constexpr double kLeft = 74, kBetween = 84, kLegendGap = 22, kLegendRow = 20, kLetter = 6.6;
constexpr int kMostTicks = 8;
// Okabe and Ito's, which colour-blind people tell apart too, without the yellow.
constexpr std::array kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                "#56b4e9", "#e69f00", "#000000"};
constexpr std::array kShapes = {"circle", "square", "triangle"};

std::string escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// "64", "1K", "2M".
std::string size_label(double bytes) {
  const char* const suffixes[] = {"", "K", "M", "G", "T"};
  int i = 0;
  while (bytes >= 1024 && i < 4) {
    bytes /= 1024;
    ++i;
  }
  return fmt::format("{:g}{}", bytes, suffixes[i]);
}

std::string number_label(double value) { return fmt::format("{:g}", value); }

// Where values lie along an axis, from 0 to 1.
struct Axis {
  double low, high;
  std::vector<double> ticks;
  double place(double value) const { return std::log(value / low) / std::log(high / low); }
};

// Sizes, at powers of two.
Axis axis_of_sizes(double least, double most) {
  const int first = static_cast<int>(std::floor(std::log2(least)));
  const int last = std::max(static_cast<int>(std::ceil(std::log2(most))), first + 1);
  Axis axis{std::exp2(first - 0.3), std::exp2(last + 0.3), {}};
  const int step = (last - first + kMostTicks - 1) / kMostTicks;
  for (int power = first; power <= last; power += step) axis.ticks.push_back(std::exp2(power));
  return axis;
}

// Other values, at powers of ten, and with few of these at 2 and 5 of each too.
Axis axis_of_values(double least, double most) {
  const double margin = most / least < 2 ? 1.6 : std::pow(most / least, 0.06) * 1.05;
  Axis axis{least / margin, most * margin, {}};
  const int first = static_cast<int>(std::floor(std::log10(axis.low)));
  const int last = static_cast<int>(std::ceil(std::log10(axis.high)));
  const std::vector<double> few = {1}, many = {1, 2, 5};
  for (int power = first; power <= last; ++power)
    for (const double digit : last - first > 3 ? few : many) {
      const double value = digit * std::pow(10, power);
      if (value >= axis.low && value <= axis.high) axis.ticks.push_back(value);
    }
  return axis;
}

struct Style {
  std::string color, shape, dashes;
};

Style style_of(std::size_t number, bool is_beside) {
  return {kColors[number % kColors.size()], kShapes[number / kColors.size() % kShapes.size()],
          is_beside ? " stroke-dasharray='6 4'" : ""};
}

std::string marker(const Style& style, double x, double y) {
  if (style.shape == "square")
    return fmt::format("<rect x='{:.1f}' y='{:.1f}' width='6' height='6' fill='{}'/>\n", x - 3,
                       y - 3, style.color);
  if (style.shape == "triangle")
    return fmt::format("<path d='M{:.1f} {:.1f}l4 7h-8z' fill='{}'/>\n", x, y - 4, style.color);
  return fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}'/>\n", x, y, style.color);
}

// A panel at x pixels; value() is what it shows of a point.
struct Panel {
  double x;
  std::string title;
  double (*value)(const Point& point);
};

double time_of(const Point& point) { return point.us; }
double bandwidth_of(const Point& point) { return point.bytes / point.us; }  // MB/s

class Picture {
 public:
  explicit Picture(const std::vector<Curve>& curves) : curves_(curves) {}

  std::string text(const std::string& title, const std::string& subtitle) {
    std::size_t letters = 0;
    for (const Curve& curve : curves_) letters = std::max(letters, curve.label.size());
    const double legend = kLeft + 2 * kPanelWidth + kBetween + kLegendGap;
    const double width =
        std::max(legend + 40 + kLetter * static_cast<double>(letters) + 12,
                 kLeft + kLetter * static_cast<double>(std::max(title.size(), subtitle.size())));
    const double height =
        std::max(kTop + kPanelHeight + kBottom,
                 kTop + kLegendRow * static_cast<double>(curves_.size()) + kLegendRow);
    text_ = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' "
        "viewBox='0 0 {0:.0f} {1:.0f}' font-family='DejaVu Sans, Arial, sans-serif' "
        "font-size='12' fill='#222'>\n<rect width='100%' height='100%' fill='white'/>\n"
        "<text x='{2}' y='26' font-size='16' font-weight='bold'>{3}</text>\n"
        "<text x='{2}' y='46' fill='#555'>{4}</text>\n",
        width, height, kLeft, escape(title), escape(subtitle));
    draw_panel({kLeft, "Time of one operation (us)", time_of});
    draw_panel({kLeft + kPanelWidth + kBetween, "Bandwidth (MB/s)", bandwidth_of});
    draw_legend(legend);
    return text_ + "</svg>\n";
  }

 private:
  Axis axis(double (*value)(const Point& point), Axis make(double, double)) const {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const Curve& curve : curves_)
      for (const Point& point : curve.points) {
        least = std::min(least, value(point));
        most = std::max(most, value(point));
      }
    return make(least, most);
  }

  void draw_panel(const Panel& panel) {
    const Axis across = axis([](const Point& point) { return point.bytes; }, axis_of_sizes);
    const Axis up = axis(panel.value, axis_of_values);
    const double bottom = kTop + kPanelHeight;
    for (const double tick : across.ticks) {
      const double x = panel.x + kPanelWidth * across.place(tick);
      text_ += fmt::format(
          "<path d='M{0:.1f} {1}V{2}' stroke='#ddd'/>\n"
          "<text x='{0:.1f}' y='{3}' text-anchor='middle'>{4}</text>\n",
          x, kTop, bottom, bottom + 18, size_label(tick));
    }
    for (const double tick : up.ticks) {
      const double y = bottom - kPanelHeight * up.place(tick);
      text_ += fmt::format(
          "<path d='M{0} {1:.1f}H{2}' stroke='#ddd'/>\n"
          "<text x='{3}' y='{4:.1f}' text-anchor='end'>{5}</text>\n",
          panel.x, y, panel.x + kPanelWidth, panel.x - 8, y + 4, number_label(tick));
    }
    text_ += fmt::format(
        "<rect x='{}' y='{}' width='{}' height='{}' fill='none' stroke='#888'/>\n"
        "<text x='{:.1f}' y='{}' text-anchor='middle'>Size (bytes)</text>\n"
        "<text x='{}' y='{}'>{}</text>\n",
        panel.x, kTop, kPanelWidth, kPanelHeight, panel.x + kPanelWidth / 2, bottom + 40, panel.x,
        kTop - 8, panel.title);
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      const Style style = style_of(i, curves_[i].is_beside);
      std::string line, markers;
      for (const Point& point : curves_[i].points) {
        const double x = panel.x + kPanelWidth * across.place(point.bytes);
        const double y = bottom - kPanelHeight * up.place(panel.value(point));
        line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x, y);
        markers += marker(style, x, y);
      }
      text_ += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='1.8'{}/>\n{}", line,
                           style.color, style.dashes, markers);
    }
  }

  void draw_legend(double x) {
    double y = kTop + 10;
    for (std::size_t i = 0; i < curves_.size(); ++i, y += kLegendRow) {
      const Style style = style_of(i, curves_[i].is_beside);
      text_ += fmt::format(
          "<path d='M{0} {1}h30' stroke='{2}' stroke-width='1.8'{3}/>\n{4}"
          "<text x='{5}' y='{6}'>{7}</text>\n",
          x, y, style.color, style.dashes, marker(style, x + 15, y), x + 38, y + 4,
          escape(curves_[i].label));
    }
  }

  const std::vector<Curve>& curves_;
  std::string text_;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

double number_in(const std::string& cell) {
  std::size_t end = 0;
  double value = -1;
  try {
    value = std::stod(cell, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end == 0 || end != cell.size() || !(value >= 0) || std::isinf(value))
    throw std::runtime_error(fmt::format("'{}' is not a number", cell));
  return value;
}

// Where the columns are, by the head of a file.
class Columns {
 public:
  explicit Columns(const std::string& head) : names_(cells_of(head)) {}
  bool has(const char* name) const { return place(name) != names_.end(); }
  std::string value(const char* name, const std::vector<std::string>& cells) const {
    const auto at = static_cast<std::size_t>(place(name) - names_.begin());
    return at < cells.size() ? cells[at] : "";
  }

 private:
  std::vector<std::string>::const_iterator place(const char* name) const {
    return std::find(names_.begin(), names_.end(), name);
  }
  std::vector<std::string> names_;
};

std::string label_of(const Columns& columns, const std::vector<std::string>& cells) {
  std::string label = columns.value("operation", cells);
  const std::string from = columns.value("from", cells);
  if (!from.empty()) label += " from " + from;
  return label;
}

}  // namespace

std::string draw(const std::string& title, const std::string& subtitle,
                 const std::vector<Curve>& curves) {
  std::vector<Curve> drawn;
  for (Curve curve : curves) {
    std::erase_if(curve.points,
                  [](const Point& point) { return point.bytes <= 0 || point.us <= 0; });
    if (!curve.points.empty()) drawn.push_back(std::move(curve));
  }
  if (drawn.empty()) throw std::runtime_error("there is nothing to draw that has a size");
  return Picture(drawn).text(title, subtitle);
}

std::vector<Curve> read_curves(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("it cannot be read");
  const std::string name = std::filesystem::path(path).stem().string();
  std::vector<Curve> curves;
  std::string line;
  while (std::getline(file, line) && (line.empty() || line[0] == '#')) {
  }
  const Columns columns(line);
  if (!columns.has("bytes") || !columns.has("us"))
    throw std::runtime_error("its head does not name the columns bytes and us");
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = cells_of(line);
    const std::string what = label_of(columns, cells);
    const std::string label = what.empty() ? name : name + ": " + what;
    const Point point{number_in(columns.value("bytes", cells)),
                      number_in(columns.value("us", cells))};
    const auto known = std::find_if(curves.begin(), curves.end(),
                                    [&](const Curve& curve) { return curve.label == label; });
    if (known == curves.end()) {
      curves.push_back({label, true, {point}});
    } else {
      known->points.push_back(point);
    }
  }
  if (curves.empty()) throw std::runtime_error("it has no figures");
  return curves;
}

}  // namespace meshmem::bench
