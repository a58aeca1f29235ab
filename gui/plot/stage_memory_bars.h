#pragma once
#include <vector>

#include "gui/plot/plot_view.h"
#include "gui/plot/stage_memory_geometry.h"

namespace hexaplan::gui {

/// Memory of one rank of every pipeline stage as a stacked bar by kind, against the device's capacity. The
/// fullest stage has the interval of its estimate; what does not fit is red; a baseline stands behind as a
/// dashed outline. Item = stage; `itemActivated(stage)` when one is clicked.
class StageMemoryBars : public PlotView {
  Q_OBJECT
 public:
  explicit StageMemoryBars(QWidget* parent = nullptr);

  /// `device_memory`: all of the GPU's, of which `estimate.capacity` is usable; 0 = unknown.
  void setEstimate(const costmodel::Estimate& estimate, costmodel::Bytes device_memory);
  /// What to compare with; empty: nothing.
  void setBaseline(std::vector<costmodel::StageMemory> baseline);
  void clear();
  /// A mark below one stage, the one that other views show; -1: none.
  void setSelectedStage(int stage);
  [[nodiscard]] int selectedStage() const { return selected_; }

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override { return static_cast<int>(data_.stages.size()); }
  [[nodiscard]] QString describe(int item) const override;
  [[nodiscard]] const StageMemoryData& memory() const { return data_; }

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;

 private:
  [[nodiscard]] StageMemoryGeometry geometry(const QSizeF& size) const;
  /// Kind and size inside a segment, where they fit.
  void drawName(QPainter& painter, const QRectF& segment, std::size_t kind,
                const costmodel::StageMemory& stage, const PlotTheme& theme) const;
  void drawNumbers(QPainter& painter, const StageMemoryGeometry& at, const PlotTheme& theme) const;

  StageMemoryData data_;
  int selected_ = -1;
};

}  // namespace hexaplan::gui
