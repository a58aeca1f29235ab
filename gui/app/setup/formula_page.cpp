#include "gui/app/setup/formula_page.h"

#include <QCoreApplication>
#include <QDialog>
#include <QFile>
#include <QHBoxLayout>
#include <QListWidget>
#include <QMap>
#include <QRegularExpression>
#include <QTextBrowser>

namespace hexaplan::gui {
namespace {

using Sections = QMap<QString, FormulaSection>;

/// Anchors in the order of the page, and their sections.
struct Page {
  QStringList anchors;
  Sections sections;
};

Page readPage() {
  Page result;
  QFile file{":/hexaplan/formulas.md"};
  if (!file.open(QIODevice::ReadOnly)) return result;
  const QRegularExpression heading{R"re(^### <a id="(\w+)"></a>(.*)$)re"};
  QString anchor;
  for (const QString& line : QString::fromUtf8(file.readAll()).split('\n')) {
    const auto match = heading.match(line);
    if (match.hasMatch()) {
      anchor = match.captured(1);
      result.anchors.append(anchor);
      result.sections[anchor].title = match.captured(2).trimmed();
    } else if (line.startsWith("## ")) {
      anchor.clear();
    } else if (!anchor.isEmpty()) {
      result.sections[anchor].text += line + '\n';
    }
  }
  return result;
}

const Page& page() {
  static const Page parsed = readPage();
  return parsed;
}

}  // namespace

FormulaSection formulaSection(const QString& anchor) {
  return page().sections.value(anchor);
}

QString fieldTip(const QString& label, const QString& meaning, const QString& anchor) {
  QString tip = "<p><b>" + label.toHtmlEscaped() + "</b><br>" + meaning.toHtmlEscaped() + "</p>";
  const QString title = formulaSection(anchor).title;
  if (!title.isEmpty())
    tip +=
        "<p>" + QCoreApplication::translate("FormulaPage", "Formula %1").arg(title.toHtmlEscaped()) + "</p>";
  return tip;
}

void showFormulas(QWidget* parent, const QString& anchor) {
  auto* dialog = new QDialog{parent};
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QCoreApplication::translate("FormulaPage", "Formulas"));
  dialog->resize(900, 600);
  auto* list = new QListWidget{dialog};
  list->setAccessibleName(QCoreApplication::translate("FormulaPage", "Formulas"));
  list->setMaximumWidth(280);
  auto* text = new QTextBrowser{dialog};
  text->setAccessibleName(QCoreApplication::translate("FormulaPage", "Formula"));
  for (const QString& id : page().anchors) list->addItem(page().sections[id].title);
  QObject::connect(list, &QListWidget::currentRowChanged, text, [text](int row) {
    const FormulaSection section = formulaSection(page().anchors.value(row));
    text->setMarkdown("### " + section.title + "\n\n" + section.text);
  });
  list->setCurrentRow(std::max(0, static_cast<int>(page().anchors.indexOf(anchor))));
  auto* layout = new QHBoxLayout{dialog};
  layout->addWidget(list);
  layout->addWidget(text, 1);
  dialog->show();
}

}  // namespace hexaplan::gui
