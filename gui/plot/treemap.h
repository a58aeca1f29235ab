#pragma once
#include <QStringList>
#include <vector>

#include "gui/models/ledger_tree.h"
#include "gui/plot/plot_view.h"

namespace hexaplan::gui {

/// The ledger of one rank as nested areas: kind, inside it tensors. A click goes into a kind or layer class,
/// Backspace or a click on the path leads back. Item = area of the innermost level shown.
class Treemap : public PlotView {
  Q_OBJECT
 public:
  explicit Treemap(QWidget* parent = nullptr);

  void setTree(LedgerNode root);
  void clear() { setTree({}); }
  /// Names from the root to the node that fills the chart; empty: the root itself.
  [[nodiscard]] QStringList path() const;
  void setPath(const QStringList& names);

  [[nodiscard]] QString textAlternative() const override;
  [[nodiscard]] int itemCount() const override;
  [[nodiscard]] QString describe(int item) const override;

 signals:
  void pathChanged(const QStringList& names);
  /// A tensor was clicked: its name, for the tree beside.
  void tensorActivated(const QString& name);

 protected:
  void draw(QPainter& painter, const QSizeF& size, const PlotTheme& theme) const override;
  [[nodiscard]] int itemAt(const QPointF& point) const override;
  [[nodiscard]] QRectF itemRect(int item) const override;
  void keyPressEvent(QKeyEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  struct Tile {
    QRectF box;
    const LedgerNode* node = nullptr;
    const LedgerNode* group = nullptr;  // child of the root that it belongs to
  };
  struct Layout {
    std::vector<Tile> groups, tiles;
    QRectF crumbs;
  };
  [[nodiscard]] Layout layout(const QSizeF& size) const;
  [[nodiscard]] std::vector<const LedgerNode*> items() const;
  void drawTile(QPainter& painter, const Tile& tile, const PlotTheme& theme) const;
  void enter(int item);
  void leaveOne();

  LedgerNode root_;
  std::vector<std::size_t> path_;  // child indices
  [[nodiscard]] const LedgerNode& shown() const;
};

}  // namespace hexaplan::gui
