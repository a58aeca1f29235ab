#pragma once
#include <QLayout>
#include <vector>

namespace hexaplan::gui {

/// Its items one beside the other, in a further row where the width ends: lines of buttons need no more of a
/// window than their widest one, whatever the font and the language.
class FlowLayout : public QLayout {
 public:
  explicit FlowLayout(QWidget* parent = nullptr) : QLayout{parent} { setContentsMargins(0, 0, 0, 0); }
  ~FlowLayout() override;

  void addItem(QLayoutItem* item) override { items_.push_back(item); }
  [[nodiscard]] int count() const override { return static_cast<int>(items_.size()); }
  [[nodiscard]] QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  [[nodiscard]] Qt::Orientations expandingDirections() const override { return {}; }
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;
  /// In one row.
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSize() const override;
  void setGeometry(const QRect& rect) override;

 private:
  /// The height that the rows take; places the items when `place`.
  int arrange(const QRect& rect, bool place) const;
  [[nodiscard]] int gap() const { return spacing() < 0 ? 6 : spacing(); }

  std::vector<QLayoutItem*> items_;
};

}  // namespace hexaplan::gui
