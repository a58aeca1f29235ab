#include "gui/plot/scale.h"

#include <cassert>
#include <cmath>

namespace hexaplan::gui {

Scale::Scale(ScaleKind kind, double low, double high, double from_pixel, double to_pixel)
    : kind_{kind}, low_{low}, high_{high}, from_{from_pixel}, to_{to_pixel} {
  assert(low < high);
  assert(kind == ScaleKind::Linear || low > 0);
}

double Scale::toPixel(double value) const {
  const double share = kind_ == ScaleKind::Log ? std::log(value / low_) / std::log(high_ / low_)
                                               : (value - low_) / (high_ - low_);
  return from_ + share * (to_ - from_);
}

double Scale::fromPixel(double pixel) const {
  if (from_ == to_) return low_;
  const double share = (pixel - from_) / (to_ - from_);
  return kind_ == ScaleKind::Log ? low_ * std::pow(high_ / low_, share) : low_ + share * (high_ - low_);
}

double Scale::length() const {
  return std::abs(to_ - from_);
}

}  // namespace hexaplan::gui
