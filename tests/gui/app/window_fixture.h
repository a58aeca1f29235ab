#pragma once
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDropEvent>
#include <QFile>
#include <QFont>
#include <QLineEdit>
#include <QMimeData>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QTranslator>
#include <QUrl>
#include <memory>

#include "gui/app/document/recovery.h"
#include "gui/app/document/settings.h"
#include "gui/app/main_window/main_window.h"
#include "gui/app/setup/fields.h"

namespace hexaplan::gui {

inline constexpr int kPatience = 30'000;  // milliseconds; a loaded machine is slow
inline const QString kConfig = QStringLiteral(HEXAPLAN_SOURCE_DIR "/examples/llama-3.1-8b/config.json");

inline QByteArray contentOf(const QString& path) {
  QFile file{path};
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray{};
}

inline QString written(const QTemporaryDir& folder, const QString& name, const QByteArray& text) {
  QFile file{folder.filePath(name)};
  if (file.open(QIODevice::WriteOnly)) file.write(text);
  return file.fileName();
}

/// A window per test, and what a person does with it.
class WindowFixture : public QObject {
  Q_OBJECT

 protected:
  std::unique_ptr<MainWindow> window_;
  QTemporaryDir folder_;

  /// Language and letters of every window that opens while it lives; the test's window goes with it.
  class Look {
   public:
    Look(WindowFixture& test, const QString& language, double pixels)
        : test_{test}, usual_{QApplication::font()} {
      QFont font = usual_;
      font.setPointSizeF(pixels * 72.0 / test.window_->logicalDpiY());
      QApplication::setFont(font);
      if (language == "en") return;
      built_ = translator_.load(":/i18n/hexaplan_" + language);
      if (built_) QApplication::installTranslator(&translator_);
    }
    ~Look() {
      test_.window_.reset();
      QApplication::removeTranslator(&translator_);
      QApplication::setFont(usual_);
    }
    Look(const Look&) = delete;
    Look& operator=(const Look&) = delete;
    /// False: this program was built without the language.
    [[nodiscard]] bool isBuilt() const { return built_; }

   private:
    WindowFixture& test_;
    QFont usual_;
    QTranslator translator_;
    bool built_ = true;
  };

  template <class W>
  W* find(const char* name) {
    return window_->findChild<W*>(name);
  }
  const Evaluation& answer() { return *window_->document().evaluation(); }
  bool answered() {
    return QTest::qWaitFor([&] { return window_->document().upToDate(); }, kPatience);
  }
  void choose(const char* field, const QString& text) {
    const QString problem = window_->document().edit(*findField(field), text, false);
    QVERIFY2(problem.isEmpty(), qPrintable(problem));
    QVERIFY(answered());
  }
  void startWith(const char* model, const char* cluster) {
    choose("model", model);
    presets::ScenarioRequest request = window_->document().request();
    request.cluster = cluster;
    window_->document().change(std::move(request), "cluster");
    QVERIFY(answered());
  }
  void openFile(const QString& path) {
    QSignalSpy opened{window_.get(), &MainWindow::opened};
    window_->open(path);
    QVERIFY(opened.wait(kPatience));
    QVERIFY(answered());
  }
  /// Drops files onto the window and waits until they are read.
  void drop(const QList<QUrl>& urls) {
    QMimeData mime;
    mime.setUrls(urls);
    QSignalSpy opened{window_.get(), &MainWindow::opened};
    QDragEnterEvent enter{QPoint{400, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier};
    QApplication::sendEvent(window_.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent event{QPointF{400, 400}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier};
    QApplication::sendEvent(window_.get(), &event);
    QVERIFY(opened.wait(kPatience));
  }
  /// Writes into a field and leaves the keyboard there, as people do.
  void type(const char* editor, const QString& text) {
    write(editor, text);
    press(Qt::Key_Return);
    QVERIFY(answered());
  }
  /// The same without Enter.
  void write(const char* editor, const QString& text) {
    auto* combo = find<QComboBox>(editor);
    QVERIFY2(combo != nullptr && combo->isEditable(), editor);
    combo->lineEdit()->setFocus();
    combo->lineEdit()->selectAll();
    QTest::keyClicks(combo->lineEdit(), text);
  }
  /// A key goes to whatever has the keyboard, by way of shortcuts, as from a keyboard.
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWidget* target = QApplication::activePopupWidget();  // a list that completes has the keyboard first
    if (target == nullptr) {
      window_->activateWindow();  // offscreen, nobody does it when a list closes
      QVERIFY(QTest::qWaitForWindowActive(window_.get()));
      target = QApplication::focusWidget();
    }
    QTest::keyClick(target == nullptr ? window_.get() : target, key, modifiers);
    QVERIFY(answered());
  }

 private slots:
  void initTestCase() { QStandardPaths::setTestModeEnabled(true); }
  void init() { open(); }
  void cleanup() { window_.reset(); }

 protected:
  /// Another window in place of the one before.
  void open() {
    QDir{RecoveryFile::folder()}.removeRecursively();
    window_ = std::make_unique<MainWindow>();
    window_->resize(1280, 800);
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
    QVERIFY(answered());
  }
};

}  // namespace hexaplan::gui
