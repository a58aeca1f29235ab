#include "gui/app/setup/field_row.h"

#include <QAbstractItemView>
#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QContextMenuEvent>
#include <QCoreApplication>
#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSignalBlocker>
#include <QSlider>
#include <QStandardItemModel>
#include <QToolButton>
#include <algorithm>

#include "gui/app/pages/plain_label.h"
#include "gui/app/setup/formula_page.h"
#include "gui/app/setup/window_keys.h"
#include "gui/models/number_text.h"

namespace hexaplan::gui {
namespace {

constexpr int kLabelWidth = 122;
constexpr int kWidestPopup = 620;
constexpr int kResetWidth = 20;

QString translated(const char* text) {
  return *text == '\0' ? QString{} : QCoreApplication::translate("Field", text);
}

/// What stands beside a value: why it cannot be chosen, or what choosing it leaves out of the numbers.
QString remarkOf(const FieldOption& option) {
  return QString::fromStdString(option.reason.empty() ? option.note : option.reason);
}

QString itemText(const FieldOption& option) {
  const QString value = QString::fromStdString(option.value), remark = remarkOf(option);
  return remark.isEmpty() ? value : value + "  –  " + remark;
}

}  // namespace

FieldRow::FieldRow(const Field& field, QWidget* parent) : QWidget{parent}, field_{field} {
  setObjectName("row:" + utf8Text(field.id));
  auto* grid = new QGridLayout{this};
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(0);
  grid->setColumnMinimumWidth(0, kLabelWidth);
  grid->setColumnStretch(1, 1);
  label_ = new QLabel{this};
  const QString unit = translated(field.unit);
  label_->setText(unit.isEmpty() ? translated(field.label).toHtmlEscaped()
                                 : QString{"%1 <small>(%2)</small>"}.arg(
                                       translated(field.label).toHtmlEscaped(), unit.toHtmlEscaped()));
  label_->setTextFormat(Qt::RichText);
  label_->setWordWrap(true);
  label_->setFixedWidth(kLabelWidth);
  tip_ = fieldTip(translated(field.label), translated(field.tip), field.formula);
  note_ = elidingLabel(this, "note");
  problem_ = new QLabel{this};
  problem_->setWordWrap(true);
  problem_->setObjectName("problem");
  problem_->hide();
  problem_->setTextFormat(Qt::PlainText);  // may hold what was typed
  QFont small = font();
  small.setPointSizeF(small.pointSizeF() * 0.85);
  note_->setFont(small);
  note_->setForegroundRole(QPalette::PlaceholderText);
  problem_->setFont(small);
  note_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  grid->addWidget(label_, 0, 0);
  makeEditors();
  grid->addWidget(note_, 1, 1);
  grid->addWidget(problem_, 2, 0, 1, 2);
  note_->hide();
}

void FieldRow::makeEditors() {
  auto* line = new QHBoxLayout;
  line->setSpacing(6);
  static_cast<QGridLayout*>(layout())->addLayout(line, 0, 1);
  switch (field_.editor) {
    case EditorKind::Steps:
      makeSlider();
      line->addWidget(slider_, 3);
      makeCombo(true);
      line->addWidget(combo_, 2);
      break;
    case EditorKind::Words:
    case EditorKind::Choice:
      makeCombo(field_.editor == EditorKind::Words);
      line->addWidget(combo_);
      break;
    case EditorKind::Check:
      makeCheck();
      line->addWidget(check_);
      break;
    case EditorKind::Text:
      makeLine();
      line->addWidget(line_);
      break;
    case EditorKind::None:  // fields() has none of them
      break;
  }
  if (!field_.automatic) return;
  makeReset();
  line->addWidget(reset_);
}

void FieldRow::makeReset() {
  reset_ = new QToolButton{this};
  reset_->setObjectName(utf8Text(field_.id) + ".reset");
  reset_->setText(QStringLiteral("↺"));
  reset_->setAutoRaise(true);
  constexpr int kAround = 8;
  reset_->setFixedWidth(
      std::max(kResetWidth, reset_->fontMetrics().horizontalAdvance(reset_->text()) + kAround));
  reset_->setAccessibleName(tr("%1: automatic again").arg(translated(field_.label)));
  reset_->setToolTip(tr("Automatic again: follows from the rest"));
  QSizePolicy kept = reset_->sizePolicy();
  kept.setRetainSizeWhenHidden(true);  // nothing moves when it comes and goes
  reset_->setSizePolicy(kept);
  connect(reset_, &QToolButton::clicked, this, [this] { emit edited(kAuto, false); });
}

/// What the field is, at `editor` and its label.
void FieldRow::tellAbout(QWidget* editor) {
  editor->setToolTip(tip_);
  editor->setWhatsThis(tip_);
  label_->setToolTip(tip_);
}

/// Names an input for screen readers and says what it is about.
void FieldRow::describeEditor(QWidget* editor, const QString& suffix) {
  const QString id = utf8Text(field_.id);
  editor->setObjectName(suffix.isEmpty() ? id : id + '.' + suffix);
  const QString unit = translated(field_.unit);
  const QString name = translated(field_.label) + (unit.isEmpty() ? QString{} : ", " + unit);
  editor->setAccessibleName(suffix.isEmpty() ? name : tr("%1, slider").arg(name));
  editor->setAccessibleDescription(translated(field_.tip));
  tipped_.push_back(editor);
  tellAbout(editor);
  if (suffix.isEmpty()) label_->setBuddy(editor);
  editor->setFocusPolicy(Qt::StrongFocus);
  editor->installEventFilter(this);
}

void FieldRow::makeCombo(bool editable) {
  combo_ = new QComboBox{this};
  combo_->setEditable(editable);
  combo_->setInsertPolicy(QComboBox::NoInsert);
  combo_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  combo_->setMinimumContentsLength(field_.editor == EditorKind::Steps ? 5 : 8);
  combo_->setMaxVisibleItems(16);
  describeEditor(combo_);
  connect(combo_, &QComboBox::activated, this,
          [this](int index) { commit(combo_->itemData(index).toString()); });
  if (!editable) return;
  combo_->lineEdit()->setAccessibleName(combo_->accessibleName());
  combo_->lineEdit()->installEventFilter(this);
  if (field_.editor == EditorKind::Words) {
    combo_->completer()->setFilterMode(Qt::MatchContains);
    combo_->completer()->setCompletionMode(QCompleter::PopupCompletion);
  } else {
    combo_->setCompleter(nullptr);  // "1" must not become "128"
  }
  connect(combo_->lineEdit(), &QLineEdit::editingFinished, this,
          [this] { commit(combo_->lineEdit()->text()); });
}

void FieldRow::makeSlider() {
  slider_ = new QSlider{Qt::Horizontal, this};
  slider_->setPageStep(1);
  slider_->setMinimumWidth(48);
  describeEditor(slider_, "slider");
  connect(slider_, &QSlider::valueChanged, this, [this](int step) {
    if (step < 0 || step >= static_cast<int>(steps_.size())) return;
    combo_->lineEdit()->setText(steps_[static_cast<std::size_t>(step)]);
    commit(steps_[static_cast<std::size_t>(step)], true);
  });
  connect(slider_, &QSlider::sliderReleased, this, &FieldRow::settled);
}

void FieldRow::makeLine() {
  line_ = new QLineEdit{this};
  describeEditor(line_);
  connect(line_, &QLineEdit::editingFinished, this, [this] { commit(line_->text()); });
}

void FieldRow::makeCheck() {
  check_ = new QCheckBox{this};
  describeEditor(check_);
  connect(check_, &QCheckBox::clicked, this, [this](bool on) { commit(on ? "true" : "false"); });
}

void FieldRow::commit(const QString& text, bool continuous) {
  const QString trimmed = text.trimmed();
  if (trimmed == shown_ && problem_->isHidden()) return;
  shown_ = trimmed;  // a second signal about the same edit is not another one
  emit edited(trimmed, continuous);
}

void FieldRow::show(const Evaluation& evaluation) {
  const bool there = !field_.shown || field_.shown(evaluation);
  if (isHidden() == there) setVisible(there);
  if (!there) return;
  showLaunchKeys(evaluation);
  const auto options = evaluation.options.find(field_.id);
  if (options != evaluation.options.end()) offer(options->second);
  showText(QString::fromStdString(field_.read(evaluation)));
  showAutomatic(field_.automatic && field_.automatic(evaluation));
  const QString note = field_.follows ? field_.follows(evaluation) : QString{};
  note_->setText(note);
  note_->setVisible(!note.isEmpty());
}

void FieldRow::showLaunchKeys(const Evaluation& evaluation) {
  if (!evaluation.priced()) return;
  const auto found = evaluation.launch_keys.find(field_.id);
  const std::string keys = found == evaluation.launch_keys.end() ? std::string{} : found->second;
  if (keys == launch_keys_) return;
  launch_keys_ = keys;
  tip_ = fieldTip(translated(field_.label), translated(field_.tip), field_.formula,
                  QString::fromStdString(keys));
  for (QWidget* editor : tipped_) tellAbout(editor);
  offered_.clear();  // remarks stand behind the tip
}

/// Fills the list and the slider; only when something changed, because this is the dear part of an update.
void FieldRow::offer(const std::vector<FieldOption>& options) {
  if (options == offered_) return;
  offered_ = options;
  if (check_ != nullptr) {
    const QString other = check_->isChecked() ? "false" : "true";
    for (const FieldOption& option : options) {
      if (QString::fromStdString(option.value) != other) continue;
      check_->setEnabled(option.reason.empty());
      const QString short_note = option.note.empty()                    ? QString{}
                                 : option.note.starts_with("no effect") ? tr("no effect here")
                                                                        : tr("not in the numbers");
      check_->setText(option.reason.empty() ? short_note : QString::fromStdString(option.reason));
      const QString remark = remarkOf(option).toHtmlEscaped();
      check_->setToolTip(remark.isEmpty() ? tip_ : tip_ + "<p>" + remark + "</p>");
    }
    return;
  }
  if (combo_ == nullptr) return;
  const QSignalBlocker quiet_combo{combo_};
  auto* model = new QStandardItemModel{combo_};
  for (const FieldOption& option : options) {
    auto* item = new QStandardItem{itemText(option)};
    item->setData(QString::fromStdString(option.value), Qt::UserRole);
    item->setEnabled(option.reason.empty());
    item->setToolTip(remarkOf(option).toHtmlEscaped());
    model->appendRow(item);
  }
  combo_->setModel(model);  // deletes the old one
  // The completer watches its list anew with every model: what watches last is asked first.
  if (combo_->completer() != nullptr) combo_->completer()->popup()->installEventFilter(this);
  combo_->view()->setMinimumWidth(std::min(kWidestPopup, combo_->view()->sizeHintForColumn(0) + 30));
  if (slider_ == nullptr) return;
  const QSignalBlocker quiet_slider{slider_};
  steps_.clear();
  for (const FieldOption& option : options) {
    if (option.reason.empty() && option.value != kAuto)
      steps_.push_back(QString::fromStdString(option.value));
  }
  slider_->setRange(0, std::max(0, static_cast<int>(steps_.size()) - 1));
  slider_->setEnabled(steps_.size() > 1);
}

/// A value that may change by itself is grey and slanted; one that was said has a button that lets go of it.
void FieldRow::showAutomatic(bool automatic) {
  if (reset_ == nullptr) return;
  reset_->setVisible(!automatic);
  QWidget* editor = combo_ != nullptr ? static_cast<QWidget*>(combo_) : line_;
  QLineEdit* line = typingLine();
  if (editor == nullptr || line == nullptr) return;
  QPalette colors = palette();
  if (automatic) colors.setColor(QPalette::Text, colors.color(QPalette::PlaceholderText));
  if (line->palette().color(QPalette::Text) != colors.color(QPalette::Text)) line->setPalette(colors);
  if (line->font().italic() != automatic) {
    QFont slanted = font();
    slanted.setItalic(automatic);
    line->setFont(slanted);
  }
  const QString tip = translated(field_.tip);
  editor->setAccessibleDescription(automatic ? tr("Automatic. %1").arg(tip) : tip);
}

void FieldRow::showText(const QString& text) {
  plan_ = shown_ = text;
  problem_->hide();
  if (line_ != nullptr && line_->text() != text) line_->setText(text);
  if (check_ != nullptr) {
    const QSignalBlocker quiet{check_};
    check_->setChecked(text == "true");
  }
  if (combo_ != nullptr) {
    const QSignalBlocker quiet{combo_};
    combo_->setCurrentIndex(combo_->findData(text));
    if (combo_->isEditable() && combo_->lineEdit()->text() != text) combo_->lineEdit()->setText(text);
  }
  if (slider_ != nullptr && !slider_->isSliderDown()) {
    const QSignalBlocker quiet{slider_};
    const auto step = std::find(steps_.begin(), steps_.end(), text);
    if (step != steps_.end()) slider_->setValue(static_cast<int>(step - steps_.begin()));
  }
}

void FieldRow::showProblem(const QString& problem) {
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
}

QString FieldRow::problem() const {
  return problem_->isHidden() ? QString{} : problem_->text();
}

void FieldRow::focusEditor() {
  for (QWidget* editor :
       {static_cast<QWidget*>(combo_), static_cast<QWidget*>(line_), static_cast<QWidget*>(check_)}) {
    if (editor == nullptr) continue;
    editor->setFocus(Qt::OtherFocusReason);
    return;
  }
}

QLineEdit* FieldRow::typingLine() const {
  if (line_ != nullptr) return line_;
  return combo_ != nullptr ? combo_->lineEdit() : nullptr;
}

bool FieldRow::holdsOwnText() const {
  const QLineEdit* line = typingLine();
  return line != nullptr && line->text() != plan_ && (line->text() != shown_ || !problem_->isHidden());
}

void FieldRow::dropOwnText() {
  showText(plan_);
}

/// A box's own undo would change its text and not the plan. So the keys are the window's, except that text
/// which is not the plan's yet goes first; Escape drops it, too.
bool FieldRow::filterKey(QObject* watched, QEvent& event) {
  const auto& key = static_cast<QKeyEvent&>(event);
  const bool undo = isUndo(key);
  if (!undo && !isRedo(key)) {
    if (event.type() != QEvent::KeyPress || key.key() != Qt::Key_Escape || !holdsOwnText()) return false;
    if (qobject_cast<QAbstractItemView*>(watched) != nullptr) return false;  // closes the list first
    dropOwnText();
    return true;
  }
  const bool drops = undo && holdsOwnText();
  event.setAccepted(drops);  // of ShortcutOverride: whether the key comes here instead of to the menu
  if (event.type() == QEvent::KeyPress && drops) {
    if (combo_ != nullptr && combo_->completer() != nullptr) combo_->completer()->popup()->hide();
    dropOwnText();
  }
  return true;
}

/// The usual menu of a text without its first entries, the text's own undo and redo.
void FieldRow::showTextMenu(const QPoint& at) {
  QMenu* menu = typingLine()->createStandardContextMenu();
  constexpr int kUndoRedoLine = 3;
  for (int i = 0; i < kUndoRedoLine; ++i) menu->removeAction(menu->actions().front());
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->popup(at);
}

/// The wheel scrolls the panel instead of changing what the pointer happens to pass.
bool FieldRow::eventFilter(QObject* watched, QEvent* event) {
  const bool list = qobject_cast<QAbstractItemView*>(watched) != nullptr;
  switch (event->type()) {
    case QEvent::Wheel:
      if (list) break;
      event->ignore();
      return true;
    case QEvent::FocusOut:
      if (watched == slider_) emit settled();
      break;
    case QEvent::ContextMenu:
      if (list || watched == slider_ || typingLine() == nullptr) break;
      showTextMenu(static_cast<QContextMenuEvent*>(event)->globalPos());
      return true;
    case QEvent::ShortcutOverride:
    case QEvent::KeyPress:
      if (filterKey(watched, *event)) return true;
      break;
    default:
      break;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace hexaplan::gui
