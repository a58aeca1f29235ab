#include "gui/app/setup/formula_page.h"

#include <QCoreApplication>
#include <QDialog>
#include <QFile>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QListWidget>
#include <QMap>
#include <QRegularExpression>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextCursor>
#include <utility>
#include <vector>

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

/// What a formula rests on, each as a paragraph of its own: Markdown joins lines.
QString withParagraphs(const QString& text) {
  static const QRegularExpression part{R"re(\n(?=(?:Assumes|Source|Function|Test): ))re"};
  return QString{text}.replace(part, QStringLiteral("\n\n"));
}

/// Formulas stand in columns, and wrap instead of making the page wider than its window.
void setCode(QTextDocument& document) {
  const QStringList fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont).families();
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    QTextCursor cursor{block};
    QTextBlockFormat format = block.blockFormat();
    const bool code = format.nonBreakableLines() || format.hasProperty(QTextFormat::BlockCodeFence);
    format.setNonBreakableLines(false);
    cursor.setBlockFormat(format);
    std::vector<std::pair<int, int>>
        spans;  // what follows is changed while the block's fragments are not read
    for (auto part = block.begin(); !part.atEnd(); ++part) {
      if (code || part.fragment().charFormat().fontFixedPitch())
        spans.emplace_back(part.fragment().position(), part.fragment().length());
    }
    QTextCharFormat letters;
    letters.setFontFamilies(fixed);
    letters.setFontFixedPitch(true);
    for (const auto& [position, length] : spans) {
      cursor.setPosition(position);
      cursor.setPosition(position + length, QTextCursor::KeepAnchor);
      cursor.mergeCharFormat(letters);
    }
  }
}

const Page& page() {
  static const Page parsed = readPage();
  return parsed;
}

}  // namespace

FormulaSection formulaSection(const QString& anchor) {
  return page().sections.value(anchor);
}

QString fieldTip(const QString& label, const QString& meaning, const QString& anchor,
                 const QString& launch_keys) {
  QString tip = "<p><b>" + label.toHtmlEscaped() + "</b><br>" + meaning.toHtmlEscaped() + "</p>";
  const QString title = formulaSection(anchor).title;
  if (!title.isEmpty())
    tip +=
        "<p>" + QCoreApplication::translate("FormulaPage", "Formula %1").arg(title.toHtmlEscaped()) + "</p>";
  if (!launch_keys.isEmpty()) tip += "<p>" + launch_keys.toHtmlEscaped() + "</p>";
  return tip;
}

void showFormulas(QWidget* parent, const QString& anchor) {
  auto* dialog = new QDialog{parent};
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName("formulas");
  dialog->setWindowTitle(QCoreApplication::translate("FormulaPage", "Formulas"));
  dialog->resize(900, 600);
  auto* list = new QListWidget{dialog};
  list->setObjectName("formulaList");
  list->setAccessibleName(QCoreApplication::translate("FormulaPage", "Formulas"));
  list->setMaximumWidth(280);
  auto* text = new QTextBrowser{dialog};
  text->setObjectName("formulaText");
  text->setAccessibleName(QCoreApplication::translate("FormulaPage", "Formula"));
  text->setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  for (const QString& id : page().anchors) list->addItem(page().sections[id].title);
  QObject::connect(list, &QListWidget::currentRowChanged, text, [text](int row) {
    const FormulaSection section = formulaSection(page().anchors.value(row));
    text->setMarkdown("### " + section.title + "\n\n" + withParagraphs(section.text));
    setCode(*text->document());
  });
  list->setCurrentRow(std::max(0, static_cast<int>(page().anchors.indexOf(anchor))));
  auto* layout = new QHBoxLayout{dialog};
  layout->addWidget(list);
  layout->addWidget(text, 1);
  dialog->show();
}

}  // namespace hexaplan::gui
