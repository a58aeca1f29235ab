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
  bare_.resize(columns);
}

void CoverageImage::Mix::clear() {
  for (auto* channel : {&red, &green, &blue}) std::fill(channel->begin(), channel->end(), 0.0F);
}

void CoverageImage::mixColumns() {
  const auto columns = static_cast<std::size_t>(coverage_.columns());
  const auto add = [&](Mix& mix, const QColor& color, const float* shares, float sign) {
    const float red = sign * static_cast<float>(color.red()),
                green = sign * static_cast<float>(color.green()),
                blue = sign * static_cast<float>(color.blue());
    for (std::size_t x = 0; x < columns; ++x) {
      mix.red[x] += shares[x] * red;
      mix.green[x] += shares[x] * green;
      mix.blue[x] += shares[x] * blue;
    }
  };
  const auto store = [&](const Mix& mix, std::vector<QRgb>& row) {
    const auto level = [](float v) { return static_cast<unsigned>(std::clamp(v, 0.0F, 255.0F)); };
    for (std::size_t x = 0; x < columns; ++x) {
      row[x] = 0xff000000U | level(mix.red[x]) << 16U | level(mix.green[x]) << 8U | level(mix.blue[x]);
    }
  };
  // What nothing covers is background.
  std::fill(bare_.begin(), bare_.end(), 1.0F);
  ground_.clear();
  for (std::size_t k = 0; k < kInks; ++k) {
    if (!coverage_.uses(static_cast<Ink>(k))) continue;
    const float* shares = coverage_.of(static_cast<Ink>(k));
    for (std::size_t x = 0; x < columns; ++x) bare_[x] -= shares[x];
    add(ground_, theme_.inks[k].color, shares, 1);
  }
  for (float& share : bare_) share = std::max(share, 0.0F);
  add(ground_, theme_.background, bare_.data(), 1);
  store(ground_, rows_[static_cast<std::size_t>(Pattern::Solid)]);
  for (std::size_t p = 1; p < kPatterns; ++p) {
    lined_ = ground_;
    patterned_[p] = false;
    for (std::size_t k = 0; k < kInks; ++k) {
      const Fill& ink = theme_.inks[k];
      if (ink.pattern != static_cast<Pattern>(p) || !coverage_.uses(static_cast<Ink>(k))) continue;
      patterned_[p] = true;
      add(lined_, ink.color, coverage_.of(static_cast<Ink>(k)), -1);
      add(lined_, ink.line, coverage_.of(static_cast<Ink>(k)), 1);
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
  mixColumns();
  const int columns = coverage_.columns();
  const int height = std::max(1, static_cast<int>(std::lround(box.height() * ratio_)));
  const int period = std::max(4, static_cast<int>(std::lround(kHatchSpacing * ratio_)));
  // Patterns repeat downwards: a few rows are enough, and one plain one where the lane is too low for them.
  const int rows = height < 5 ? 1 : std::min(height, period);
  const int thick = rows == 1 ? 0 : std::max(1, static_cast<int>(ratio_));
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
