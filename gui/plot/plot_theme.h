#pragma once
#include <QColor>
#include <array>
#include <cstdint>

#include "costmodel/memory/tensor_ledger.h"

class QPalette;

namespace hexaplan::gui {

/// What an area of a chart means. Each has a colour and a pattern of its own inside the charts where it
/// appears, so that nothing is told by colour alone.
enum class Ink : std::uint8_t {
  // Memory, in the order of costmodel::TensorKind.
  Parameters,
  Gradients,
  OptimizerState,
  Activations,
  Logits,
  Transient,
  CommunicationBuffers,
  Overhead,
  Cached,
  // Time.
  Gemm,
  Attention,
  MemoryBound,
  Recompute,
  Launch,
  TensorParallel,
  ContextParallel,
  ExpertParallel,
  PipelineMessages,
  Bubble,
  DataParallel,
  OptimizerStep,
  Host,
  // Timeline.
  Forward,
  Backward,
  BackwardInput,
  BackwardWeight,
  OuterGradients,
  HiddenCommunication,
  ExposedCommunication,
  // A measurement beside its prediction.
  AsPredicted,
  Slower,
  Faster,
  NotPredicted,
};
inline constexpr int kInks = 33;

[[nodiscard]] constexpr Ink inkOf(costmodel::TensorKind kind) {
  return static_cast<Ink>(kind);
}

enum class Pattern : std::uint8_t { Solid, Rising, Falling, Horizontal, Vertical, Crossed };
inline constexpr int kPatterns = 6;

struct Fill {
  QColor color;
  QColor line;  // of the pattern
  Pattern pattern = Pattern::Solid;
  [[nodiscard]] QColor text() const;  // readable on `color`
};

/// All colours of the charts, light or dark: one table (plot_theme.cpp).
struct PlotTheme {
  bool dark = false;
  bool high_contrast = false;
  QColor background, text, faint, axis, grid;
  QColor danger;    // does not fit: lines and letters
  QColor alarm;     // the same as ground of white letters (contrast of 4.5 at least)
  QColor limit;     // lines of capacity
  QColor baseline;  // outlines of what is compared with
  QColor focus;     // around the selected item
  std::array<Fill, kInks> inks;

  [[nodiscard]] const Fill& of(Ink ink) const { return inks[static_cast<std::size_t>(ink)]; }
  /// Position 0..1 on a scale whose lightness rises evenly for every kind of colour vision (cividis).
  [[nodiscard]] static QColor sequential(double position);

  [[nodiscard]] static const PlotTheme& lightTheme();
  [[nodiscard]] static const PlotTheme& darkTheme();
  /// `dark` or not, in black and white but for the areas.
  [[nodiscard]] static const PlotTheme& highContrast(bool dark);
  /// The theme that suits a widget's palette: one of high contrast on a ground of plain black or white.
  [[nodiscard]] static const PlotTheme& suiting(const QPalette& palette);
};

}  // namespace hexaplan::gui
