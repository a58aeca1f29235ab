#pragma once
class QComboBox;
class QLabel;
class QString;
class QWidget;

namespace hexaplan::gui {

/// A label for text that changes with every answer. Without a text document behind it (rich or selectable
/// text has one), which would be laid out several times per change; its context menu copies it instead.
[[nodiscard]] QLabel* plainLabel(QWidget* parent, const char* name);
/// The same in one line that is cut with "…" where there is no room, instead of widening the window; its tool
/// tip then has the whole text.
[[nodiscard]] QLabel* elidingLabel(QWidget* parent, const char* name);
/// `label`, wrapped, in a frame that gets as high as its text, and scrolls where a page is too low for that.
/// `name`: the frame's, for screen readers.
[[nodiscard]] QWidget* scrolledText(QLabel* label, const QString& name);
/// Names a box without a label that is seen, for screen readers. On Linux they hear a box's value where other
/// parts have their name, and take the name from a label: a hidden one beside the box.
void nameBox(QComboBox& box, const QString& name);

}  // namespace hexaplan::gui
