#pragma once
#include <array>
#include <string>
#include <string_view>

#include "costmodel/simulate/simulation.h"

namespace hexaplan::charts {

/// How a kind of span is shown: colours of Okabe and Ito's palette with a violet and a brown beside them,
/// told apart by people with any colour vision (https://jfly.uni-koeln.de/color/), and a letter where there
/// is no colour. In the window communication has inks of its own, by whether it is hidden.
struct SpanStyle {
  std::string_view fill;
  std::string_view ink;  // of text on it
  char letter;
};
[[nodiscard]] const SpanStyle& style_of(costmodel::SpanKind kind);

/// "forward 12", "backward 3 of chunk 1", "optimizer".
[[nodiscard]] std::string label_of(const costmodel::Span& span, int chunks);

}  // namespace hexaplan::charts
