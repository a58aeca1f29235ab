#include "charts/svg.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace hexaplan::charts {
namespace {

constexpr std::string_view name_of(Anchor anchor) {
  constexpr std::string_view kNames[] = {"start", "middle", "end"};
  return kNames[static_cast<std::size_t>(anchor)];
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
        out += c;
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

void SvgWriter::rectangle(const Box& box, std::string_view fill, double opacity, std::string_view tip) {
  fmt::format_to(std::back_inserter(out_), "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"",
                 pixels(box.x), pixels(box.y), pixels(box.width), pixels(box.height), fill);
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
                 pixels(box.x), pixels(box.y), pixels(box.width), pixels(box.height), stroke);
}

void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view stroke,
                     std::string_view dash) {
  fmt::format_to(std::back_inserter(out_),
                 "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"{}/>\n", pixels(x1), pixels(y1),
                 pixels(x2), pixels(y2), stroke,
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
                 pixels(x), pixels(y), pixels(size), name_of(anchor), fill, escaped_markup(words));
}

std::string SvgWriter::take() {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace hexaplan::charts
