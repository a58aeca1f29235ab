// "Check against PyTorch" with Pythons that answer as PyTorch did, that lack a package, and that never end.
#include <QAbstractItemModel>
#include <QAction>
#include <QLabel>
#include <QPushButton>
#include <QTableView>

#include "gui/app/pages/oracle_dialog.h"
#include "presets/json/read_json.h"
#include "tests/gui/app/window_fixture.h"

namespace hexaplan::gui {

class OracleTest : public WindowFixture {
  Q_OBJECT

 private:
  /// The recorded case of a small Llama on transformers.
  static const presets::JsonValue& recorded() {
    static const presets::JsonDocument file =
        presets::read_json_file(HEXAPLAN_SOURCE_DIR "/tests/golden/oracle/answers.json");
    return file.root.find("cases")->get_if<presets::JsonArray>()->front();
  }
  QString python(const QByteArray& commands) {
    const QString path = written(folder_, "python", "#!/bin/sh\n" + commands + "\n");
    QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return path;
  }
  QString says() { return find<QLabel>("oracleSays")->text(); }
  bool waits() { return !find<QPushButton>("cancelOracle")->isHidden(); }
  /// Opens the recorded question and asks this Python.
  void check(const QByteArray& commands) {
    presets::JsonObject scenario = *recorded().find("scenario")->get_if<presets::JsonObject>();
    scenario.emplace_back("cluster", "1xH100");
    openFile(written(folder_, "small.json", QByteArray::fromStdString(presets::to_text(scenario))));
    find<QAction>("actionOracle")->trigger();
    find<QLineEdit>("oraclePython")->setText(python(commands));
    find<QPushButton>("startOracle")->click();
    QVERIFY(waits());
  }

 private slots:
  void shows_where_prediction_and_pytorch_differ() {
    const QString answer = written(folder_, "answer.json",
                                   QByteArray::fromStdString(presets::to_text(*recorded().find("answer"))));
    check("cat " + answer.toUtf8());
    QVERIFY(QTest::qWaitFor([&] { return !waits(); }, kPatience));
    QVERIFY2(says().contains("numbers differ; furthest off is"), qPrintable(says()));
    QVERIFY(says().contains("torch 2.15.0"));
    const QAbstractItemModel& table = *find<QTableView>("oracleTable")->model();
    QVERIFY(table.rowCount() > 15);
    QCOMPARE(table.index(0, 0).data().toString(), QString{"One step on rank 0"});
    QVERIFY(find<QPushButton>("saveOracle")->isEnabled());
    QVERIFY(!find<OracleDialog>("oracle")->saveTo(folder_.filePath("mine.json")));
    QCOMPARE(says(), QString{"There is nothing that a profile could say."});
  }

  void says_what_is_missing() {
    check(
        "echo '{\"schema\": \"hexaplan/oracle-answer/1\", \"problem\": {\"what\": \"no package torch\", "
        "\"expected\": \"torch 2.6 or newer\", \"hint\": \"install it\"}}'");
    QVERIFY(QTest::qWaitFor([&] { return !waits(); }, kPatience));
    QVERIFY2(says().contains("no package torch, expected torch 2.6 or newer; install it"),
             qPrintable(says()));
    QVERIFY(!find<QPushButton>("saveOracle")->isEnabled());
  }

  void cancelling_ends_python() {
    check("echo 'stage: a long step' >&2; sleep 300");
    QVERIFY(QTest::qWaitFor([&] { return says() == "a long step"; }, kPatience));
    find<QPushButton>("cancelOracle")->click();
    QVERIFY(!waits());
    QCOMPARE(says(), QString{"Cancelled."});
  }  // the window is closed at once, which waits for the thread

  void a_question_without_a_model_is_not_asked() {
    find<QAction>("actionOracle")->trigger();
    find<QPushButton>("startOracle")->click();
    QVERIFY(!waits());
    QCOMPARE(says(), QString{"Choose a model and GPUs first."});
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::OracleTest)
#include "oracle_test.moc"
