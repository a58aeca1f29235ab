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
  for (auto& row : rows_) row.resize(static_cast<std::size_t>(coverage_.columns()));
}

void CoverageImage::mixColumns() {
  struct Mix {
    float red = 0, green = 0, blue = 0;
    void add(const QColor& color, float share) {
      red += share * static_cast<float>(color.red());
      green += share * static_cast<float>(color.green());
      blue += share * static_cast<float>(color.blue());
    }
    [[nodiscard]] QRgb rgb() const {
      const auto level = [](float v) { return static_cast<int>(std::min(v, 255.0F)); };
      return qRgb(level(red), level(green), level(blue));
    }
  };
  for (int x = 0; x < coverage_.columns(); ++x) {
    const float* shares = coverage_.column(x);
    float covered = 0;
    Mix ground;
    for (std::size_t k = 0; k < kInks; ++k) {
      if (shares[k] <= 0) continue;
      covered += shares[k];
      ground.add(theme_.inks[k].color, shares[k]);
    }
    ground.add(theme_.background, std::max(0.0F, 1 - covered));
    for (auto& row : rows_) row[static_cast<std::size_t>(x)] = ground.rgb();
    for (std::size_t k = 0; k < kInks; ++k) {
      const Fill& ink = theme_.inks[k];
      if (shares[k] <= 0 || ink.pattern == Pattern::Solid) continue;
      Mix lined = ground;
      lined.add(ink.color, -shares[k]);
      lined.add(ink.line, shares[k]);
      rows_[static_cast<std::size_t>(ink.pattern)][static_cast<std::size_t>(x)] = lined.rgb();
    }
  }
}

void CoverageImage::paint(QPainter& painter, const QRectF& box, const TimelineLane& lane,
                          const TimeWindow& window) {
  coverage_.clear();
  coverage_.add(lane, window);
  mixColumns();
  const int columns = coverage_.columns();
  const auto row = [this](Pattern p) { return rows_[static_cast<std::size_t>(p)].data(); };
  const int height = std::max(1, static_cast<int>(std::lround(box.height() * ratio_)));
  const int period = std::max(4, static_cast<int>(std::lround(kHatchSpacing * ratio_)));
  const int thick = std::max(1, static_cast<int>(ratio_));
  // Patterns repeat downwards: a few rows are enough, and one where the lane is too low for them.
  const int rows = height < 5 ? 1 : std::min(height, period);
  QImage image(columns, rows, QImage::Format_RGB32);
  for (int y = 0; y < rows; ++y) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    const bool lined = rows > 1 && y % period < thick;
    std::copy_n(row(lined ? Pattern::Horizontal : Pattern::Solid), columns, line);
    if (rows == 1) break;
    const auto dots = [&](Pattern pattern, int first) {
      for (int t = 0; t < thick; ++t) {
        for (int x = (first + t) % period; x < columns; x += period) line[x] = row(pattern)[x];
      }
    };
    dots(Pattern::Rising, period - y % period);
    dots(Pattern::Falling, y);
    dots(Pattern::Vertical, 0);
  }
  for (int done = 0; done < height; done += rows) {
    const int part = std::min(rows, height - done);
    const QRectF target(box.left(), box.top() + done / ratio_, box.width(),
                        rows == 1 ? box.height() : part / ratio_);
    painter.drawImage(target, image, QRectF(0, 0, columns, part));
    if (rows == 1) break;
  }
}

}  // namespace hexaplan::gui
