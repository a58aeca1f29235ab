#include "gui/app/pages/plain_label.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QLabel>

namespace hexaplan::gui {

QLabel* plainLabel(QWidget* parent, const char* name) {
  auto* label = new QLabel{parent};
  label->setObjectName(name);
  label->setTextFormat(Qt::PlainText);
  auto* copy = new QAction{QCoreApplication::translate("TableTools", "Copy"), label};
  QObject::connect(copy, &QAction::triggered, label,
                   [label] { QApplication::clipboard()->setText(label->text()); });
  label->addAction(copy);
  label->setContextMenuPolicy(Qt::ActionsContextMenu);
  return label;
}

}  // namespace hexaplan::gui
