#include "charts/span_style.h"

#include <fmt/format.h>

namespace hexaplan::charts {

using costmodel::kSpanKinds;
using costmodel::Span;
using costmodel::SpanKind;

const SpanStyle& style_of(SpanKind kind) {
  static constexpr std::array<SpanStyle, kSpanKinds> kStyles{{
      {"#56b4e9", "#000000", 'F'},  // forward: sky blue
      {"#0072b2", "#ffffff", 'B'},  // backward: blue
      {"#0072b2", "#ffffff", 'I'},  // backward input
      {"#009e73", "#000000", 'W'},  // backward weight: bluish green
      {"#cc79a7", "#000000", 'R'},  // recompute: reddish purple
      {"#d55e00", "#000000", 'c'},  // collective: vermilion
      {"#8c8c8c", "#000000", 's'},  // send forward
      {"#bdbdbd", "#000000", 's'},  // send backward
      {"#e69f00", "#000000", 'g'},  // gradient reduction: orange
      {"#f0e442", "#000000", 'p'},  // parameter gather: yellow
      {"#5e4fa2", "#ffffff", 'O'},  // optimizer: violet
      {"#595959", "#ffffff", 'h'},  // host
      {"#a6611a", "#ffffff", 'o'},  // outer gradients: brown
  }};
  return kStyles[static_cast<std::size_t>(kind)];
}

std::string label_of(const Span& span, int chunks) {
  const std::string_view name = name_of(span.kind);
  if (span.microbatch < 0) {
    return chunks > 1 && span.chunk >= 0 ? fmt::format("{} of chunk {}", name, span.chunk)
                                         : std::string{name};
  }
  if (chunks == 1) return fmt::format("{} {}", name, span.microbatch);
  return fmt::format("{} {} of chunk {}", name, span.microbatch, span.chunk);
}

}  // namespace hexaplan::charts
