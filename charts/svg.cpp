#include "charts/svg.h"

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <utility>

namespace hexaplan::charts {
namespace {

constexpr std::string_view name_of(Anchor anchor) {
  constexpr std::string_view kNames[] = {"start", "middle", "end"};
  return kNames[static_cast<std::size_t>(anchor)];
}

/// A neutral colour, what draws in it, and the page's own that stands for it.
struct PageColour {
  std::string_view colour, on_page;
};
constexpr PageColour kWriting[] = {{"#1a1a1a", "var(--ink)"},
                                   {"#404040", "var(--soft-ink)"},
                                   {"#595959", "var(--soft-ink)"},
                                   {"#8c8c8c", "var(--rule)"},
                                   {"#d9d9d9", "var(--rule)"}};
constexpr PageColour kAreas[] = {{"#f5f5f5", "var(--lane)"}, {"#000000", "var(--dark-mark)"}};

std::string_view on_ground(std::string_view colour, Ground ground, std::span<const PageColour> table) {
  if (ground == Ground::Paper) return colour;
  for (const PageColour& row : table) {
    if (row.colour == colour) return row.on_page;
  }
  return colour;
}

}  // namespace

std::string escaped_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // What XML cannot hold, and no file of ours does.
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

std::string pixels(double value) {
  std::string digits = fmt::format("{:.2f}", value);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

SvgWriter::SvgWriter(double width, double height, std::string_view title, std::string_view description,
                     std::string_view page) {
  out_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
      "<title>{2}</title>\n<desc>{3}</desc>\n<rect width=\"{0}\" height=\"{1}\" fill=\"{4}\"/>\n",
      pixels(width), pixels(height), escaped_markup(title), escaped_markup(description), page);
}

SvgWriter::SvgWriter(double width, double height, std::string_view title, std::string_view description,
                     Ground ground)
    : SvgWriter{width, height, title, description, ground == Ground::Page ? "none" : "#ffffff"} {
  ground_ = ground;
}

void SvgWriter::rectangle(const Box& box, std::string_view fill, double opacity, std::string_view tip) {
  fmt::format_to(std::back_inserter(out_), "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"",
                 pixels(box.x), pixels(box.y), pixels(box.width), pixels(box.height),
                 on_ground(fill, ground_, kAreas));
  if (opacity < 1) fmt::format_to(std::back_inserter(out_), " fill-opacity=\"{}\"", pixels(opacity));
  if (tip.empty()) {
    out_ += "/>\n";
  } else {
    fmt::format_to(std::back_inserter(out_), "><title>{}</title></rect>\n", escaped_markup(tip));
  }
}

void SvgWriter::outline(const Box& box, std::string_view stroke) {
  fmt::format_to(std::back_inserter(out_),
                 "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\"/>\n",
                 pixels(box.x), pixels(box.y), pixels(box.width), pixels(box.height),
                 on_ground(stroke, ground_, kWriting));
}

void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view stroke,
                     std::string_view dash) {
  fmt::format_to(std::back_inserter(out_),
                 "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"{}/>\n", pixels(x1), pixels(y1),
                 pixels(x2), pixels(y2), on_ground(stroke, ground_, kWriting),
                 dash.empty() ? std::string{} : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

void SvgWriter::path(std::string_view path, std::string_view fill, std::string_view stroke) {
  fmt::format_to(std::back_inserter(out_), "<path d=\"{}\" fill=\"{}\"{}/>\n", path, fill,
                 stroke.empty() ? std::string{} : fmt::format(" stroke=\"{}\"", stroke));
}

void SvgWriter::text(double x, double y, std::string_view words, double size, Anchor anchor,
                     std::string_view fill) {
  fmt::format_to(std::back_inserter(out_),
                 "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n",
                 pixels(x), pixels(y), pixels(size), name_of(anchor), on_ground(fill, ground_, kWriting),
                 escaped_markup(words));
}

std::string SvgWriter::take() {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace hexaplan::charts
