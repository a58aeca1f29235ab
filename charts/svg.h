#pragma once
#include <string>
#include <string_view>

namespace hexaplan::charts {

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// Pixels of a letter of text of 12 at most, on average: for margins.
inline constexpr double kLetterWidth = 7;

enum class Anchor : unsigned char { Start, Middle, End };

/// Where a picture stands.
enum class Ground : unsigned char {
  Paper,  // in a file of its own: white, and no colour from elsewhere
  Page,   // inside a page that defines --ink, --soft-ink, --rule, --lane and --dark-mark, light or dark
};

/// Writes an SVG 1.1 document that needs nothing beside itself: no fonts, scripts or style sheets.
/// Coordinates are pixels with two digits, independent of the locale.
class SvgWriter {
 public:
  /// A page of the colour `page`; `title` and `description` are what screen readers say.
  SvgWriter(double width, double height, std::string_view title, std::string_view description,
            std::string_view page = "#ffffff");
  SvgWriter(double width, double height, std::string_view title, std::string_view description, Ground ground);

  void rectangle(const Box& box, std::string_view fill, double opacity = 1, std::string_view tip = {});
  void outline(const Box& box, std::string_view stroke);
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, std::string_view dash = {});
  /// `path` in SVG's own notation, filled and, unless empty, stroked.
  void path(std::string_view path, std::string_view fill, std::string_view stroke);
  void text(double x, double y, std::string_view words, double size, Anchor anchor = Anchor::Start,
            std::string_view fill = "#1a1a1a");
  [[nodiscard]] std::string take();

 private:
  std::string out_;
  Ground ground_ = Ground::Paper;
};

/// Text as XML and HTML take it, in quotes too.
[[nodiscard]] std::string escaped_markup(std::string_view text);

/// "12.3", "7": two digits at most, no trailing zeros.
[[nodiscard]] std::string pixels(double value);

}  // namespace hexaplan::charts
