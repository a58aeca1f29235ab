#include "gui/plot/coverage_image.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/plot/fill_rect.h"

namespace hexaplan::gui {

CoverageImage::CoverageImage(double width, double device_pixel_ratio, const PlotTheme& theme)
    : theme_{theme},
      ratio_{device_pixel_ratio},
      coverage_{std::max(1, static_cast<int>(std::lround(width * device_pixel_ratio)))} {
  const auto columns = static_cast<std::size_t>(coverage_.columns());
  for (auto& row : rows_) row.resize(columns);
  for (Mix* mix : {&ground_, &lined_}) {
    for (auto* channel : {&mix->red, &mix->green, &mix->blue}) channel->resize(columns);
  }
}

void CoverageImage::Mix::fill(const QColor& color) {
  std::fill(red.begin(), red.end(), static_cast<float>(color.red()));
  std::fill(green.begin(), green.end(), static_cast<float>(color.green()));
  std::fill(blue.begin(), blue.end(), static_cast<float>(color.blue()));
}

void CoverageImage::mixColumns(bool patterns) {
  const auto columns = static_cast<std::size_t>(coverage_.columns());
  /// Puts `color` in the place of `before`, by the shares.
  const auto exchange = [&](Mix& mix, const QColor& before, const QColor& color, const float* shares) {
    const auto red = static_cast<float>(color.red() - before.red()),
               green = static_cast<float>(color.green() - before.green()),
               blue = static_cast<float>(color.blue() - before.blue());
    for (std::size_t x = 0; x < columns; ++x) mix.red[x] += shares[x] * red;
    for (std::size_t x = 0; x < columns; ++x) mix.green[x] += shares[x] * green;
    for (std::size_t x = 0; x < columns; ++x) mix.blue[x] += shares[x] * blue;
  };
  const auto store = [&](const Mix& mix, std::vector<QRgb>& row) {
    // Through int: conversions to unsigned are not vectorised.
    const auto level = [](float v) { return static_cast<int>(std::min(std::max(v, 0.0F), 255.0F)); };
    for (std::size_t x = 0; x < columns; ++x) {
      row[x] = 0xff000000U |
               static_cast<QRgb>(level(mix.red[x]) << 16 | level(mix.green[x]) << 8 | level(mix.blue[x]));
    }
  };
  ground_.fill(theme_.background);  // what nothing covers stays so
  for (std::size_t k = 0; k < kInks; ++k) {
    const Ink ink = static_cast<Ink>(k);
    if (coverage_.uses(ink)) exchange(ground_, theme_.background, theme_.inks[k].color, coverage_.of(ink));
  }
  store(ground_, rows_[static_cast<std::size_t>(Pattern::Solid)]);
  for (std::size_t p = 1; p < kPatterns; ++p) {
    patterned_[p] = false;
    for (std::size_t k = 0; k < kInks && patterns; ++k) {
      const Fill& ink = theme_.inks[k];
      if (ink.pattern != static_cast<Pattern>(p) || !coverage_.uses(static_cast<Ink>(k))) continue;
      if (!patterned_[p]) lined_ = ground_;
      patterned_[p] = true;
      exchange(lined_, ink.color, ink.line, coverage_.of(static_cast<Ink>(k)));
    }
    if (patterned_[p]) store(lined_, rows_[p]);
  }
}

void CoverageImage::drawRow(QRgb* line, int y, int period, int thick) const {
  const int columns = coverage_.columns();
  const auto row = [this](Pattern p) { return rows_[static_cast<std::size_t>(p)].data(); };
  const bool lined = y % period < thick && patterned_[static_cast<std::size_t>(Pattern::Horizontal)];
  std::copy_n(row(lined ? Pattern::Horizontal : Pattern::Solid), columns, line);
  struct Dots {
    Pattern pattern;
    int first;
  };
  for (const Dots& dots :
       {Dots{Pattern::Rising, period - y % period}, Dots{Pattern::Falling, y}, Dots{Pattern::Vertical, 0}}) {
    if (!patterned_[static_cast<std::size_t>(dots.pattern)]) continue;
    for (int t = 0; t < thick; ++t) {
      for (int x = (dots.first + t) % period; x < columns; x += period) line[x] = row(dots.pattern)[x];
    }
  }
}

void CoverageImage::paint(QPainter& painter, const QRectF& box, const TimelineLane& lane,
                          const TimeWindow& window) {
  coverage_.clear();
  coverage_.add(lane, window);
  const int columns = coverage_.columns();
  const int height = std::max(1, static_cast<int>(std::lround(box.height() * ratio_)));
  const int period = std::max(4, static_cast<int>(std::lround(kHatchSpacing * ratio_)));
  // Patterns repeat downwards: a few rows are enough, and one plain one where the lane is too low for them.
  const int rows = height < 5 ? 1 : std::min(height, period);
  const int thick = rows == 1 ? 0 : std::max(1, static_cast<int>(ratio_));
  mixColumns(thick > 0);
  QImage image(columns, rows, QImage::Format_RGB32);
  for (int y = 0; y < rows; ++y) drawRow(reinterpret_cast<QRgb*>(image.scanLine(y)), y, period, thick);
  for (int done = 0; done < height; done += rows) {
    const int part = std::min(rows, height - done);
    const QRectF target(box.left(), box.top() + done / ratio_, box.width(),
                        rows == 1 ? box.height() : part / ratio_);
    painter.drawImage(target, image, QRectF(0, 0, columns, part));
    if (rows == 1) break;
  }
}

}  // namespace hexaplan::gui
