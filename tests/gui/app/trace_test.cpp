// A measured trace in the window: opened, laid over its prediction, refused.
#include <QAbstractItemModel>
#include <QAccessible>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTabWidget>
#include <QTableView>
#include <QTimer>

#include "gui/app/pages/time_page.h"
#include "gui/models/cell.h"
#include "gui/plot/timeline.h"
#include "tests/gui/app/window_fixture.h"
#include "tests/gui/support/example_trace.h"

namespace hexaplan::gui {

class TraceTest : public WindowFixture {
  Q_OBJECT

 private:
  /// A question that is small enough for a trace of it to be read in a moment.
  void ask(const char* layout = "tp2 dp2 pp2 sp zero1") {
    presets::ScenarioRequest request;
    request.model = "llama-3.2-1b";
    request.cluster = "8xH100";
    request.layout = presets::parse_layout(layout, "layout");
    request.recipe.sequence = 4096;
    request.recipe.global_batch = 8;
    window_->document().change(std::move(request), "question");
    QVERIFY(answered());
  }
  QString traceOf(std::int64_t rank, double slower = 1, double products = 1.5,
                  const QString& name = "trace.json") {
    const Evaluation& e = answer();
    return written(folder_, name,
                   exampleTrace(e.scenario, e.calibration->calibration, rank, slower, products));
  }
  Timeline* timeline() { return find<Timeline>("timeline"); }
  QTableView* table() { return find<QTableView>("tracedOperations"); }
  QString summary() { return find<QLabel>("stepSummary")->text(); }
  QString problem() { return find<QLabel>("traceProblem")->text(); }
  /// The overlay of the present question is on the screen.
  bool laid() {
    return QTest::qWaitFor([&] { return summary().contains("of the trace") && table()->isVisible(); },
                           kPatience);
  }
  bool refused() {
    return QTest::qWaitFor([&] { return problem().startsWith("Not opened"); }, kPatience);
  }
  double cell(int row, int column) { return table()->model()->index(row, column).data(kSortRole).toDouble(); }
  int rowOf(const QString& words) {
    for (int row = 0; row < table()->model()->rowCount(); ++row) {
      if (table()->model()->index(row, 0).data().toString().contains(words)) return row;
    }
    return -1;
  }

 private slots:
  void a_dropped_trace_lies_over_the_step_of_its_rank() {
    ask();
    drop({QUrl::fromLocalFile(traceOf(6))});
    QVERIFY(laid());
    QCOMPARE(window_->pages().currentWidget()->objectName(), QString{"timePage"});
    QVERIFY2(summary().contains("stage 1"), qPrintable(summary()));  // rank 6 of tp2 dp2 pp2
    QVERIFY2(summary().contains("100.0 % of the time"), qPrintable(summary()));
    QVERIFY2(summary().contains("NVIDIA H100 80GB HBM3"), qPrintable(summary()));
    const QString words = timeline()->textAlternative();
    for (const char* lane : {"kernels: predicted", "kernels: stream 7", "kernels: difference",
                             "messages: stream 20", "messages: difference"})
      QVERIFY2(words.contains(lane), qPrintable(words));
    // The memory of the whole pipeline gives way to the operations.
    QVERIFY(table()->isVisible());
  }

  void the_table_says_what_is_slower_by_how_much() {
    ask();
    drop({QUrl::fromLocalFile(traceOf(0, 1, 1.5))});
    QVERIFY(laid());
    const int predicted = 2, measured = 3, ratio = 4, share = 6;
    const int down = rowOf("mlp.down");
    QVERIFY(down >= 0);
    QVERIFY(std::abs(cell(down, ratio) - 1.5) < 0.01);
    QVERIFY(std::abs(cell(down, measured) / cell(down, predicted) - 1.5) < 0.01);
    QVERIFY(cell(down, share) > 0.005 && cell(down, share) < 0.5);
    const int attention = rowOf("attention");
    QVERIFY(attention >= 0);
    // What differs most stands first: a product.
    QVERIFY(std::abs(cell(0, ratio) - 1.5) < 0.01);
  }

  void arrows_reach_the_difference_of_an_operation() {
    ask();
    drop({QUrl::fromLocalFile(traceOf(0, 1, 1.5))});
    QVERIFY(laid());
    timeline()->setFocus();
    press(Qt::Key_Home);
    press(Qt::Key_Down);  // the stream
    press(Qt::Key_Down);  // the difference
    bool slower = false;
    for (int i = 0; i < 12 && !slower; ++i) {
      const QString spoken = timeline()->spokenText();
      QVERIFY2(spoken.contains("predicted") && spoken.contains("measured"), qPrintable(spoken));
      slower = spoken.contains("+50.0 %");
      press(Qt::Key_Right);
    }
    QVERIFY(slower);
    const auto* spoken = QAccessible::queryAccessibleInterface(timeline());
    QVERIFY(!spoken->text(QAccessible::Description).isEmpty());
  }

  void words_leave_an_operation_s_boxes_as_predicted_and_as_measured() {
    ask();
    drop({QUrl::fromLocalFile(traceOf(0, 1, 1.5))});
    QVERIFY(laid());
    const int all = timeline()->itemCount();
    find<QLineEdit>("timelineFilter")->setText("mlp.down");
    const int some = timeline()->itemCount();
    QVERIFY2(some > 0 && some < all, qPrintable(QString::number(some)));
    for (const int item : {0, some / 2, some - 1})
      QVERIFY2(timeline()->describe(item).contains("mlp.down"), qPrintable(timeline()->describe(item)));
    QVERIFY2(!find<QWidget>("criticalPath")->isEnabled(), "a rank alone has none");
    find<QLineEdit>("timelineFilter")->clear();
    QCOMPARE(timeline()->itemCount(), all);
  }

  void the_overlay_follows_the_question_and_says_when_it_no_longer_fits() {
    ask();
    drop({QUrl::fromLocalFile(traceOf(0))});
    QVERIFY(laid());
    choose("recipe.micro_batch", "2");
    QVERIFY(QTest::qWaitFor([&] { return summary().contains("another model"); }, kPatience));
    press(Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(QTest::qWaitFor([&] { return summary().contains("100.0 % of the time"); }, kPatience));
    QVERIFY(!summary().contains("another model"));
  }

  void a_trace_of_another_model_says_so() {
    ask();
    const QString trace = traceOf(0);
    startWith("llama-3.1-8b", "8xH100");
    drop({QUrl::fromLocalFile(trace)});
    QVERIFY(laid());
    QVERIFY2(summary().contains("This trace is of another model"), qPrintable(summary()));
  }

  void a_rank_or_a_number_of_gpus_that_the_plan_lacks_is_said() {
    ask();
    const QString trace = traceOf(7);
    presets::ScenarioRequest request = window_->document().request();
    request.cluster = "4xH100";
    request.layout = presets::parse_layout("tp2 dp1 pp2 sp zero1", "layout");
    window_->document().change(std::move(request), "fewer");
    QVERIFY(answered());
    drop({QUrl::fromLocalFile(trace)});
    QVERIFY(laid());
    QVERIFY2(summary().contains("8 processes, the plan has 4 GPUs"), qPrintable(summary()));
    QVERIFY2(summary().contains("no rank 7"), qPrintable(summary()));
  }

  void several_ranks_are_chosen_from_and_closed() {
    ask();
    drop({QUrl::fromLocalFile(traceOf(6, 1, 2, "six.json"))});
    QVERIFY(laid());
    drop({QUrl::fromLocalFile(traceOf(1, 1, 1.2, "one.json"))});
    QVERIFY(QTest::qWaitFor([&] { return summary().contains("stage 0"); }, kPatience));
    auto* view = find<QComboBox>("traceView");
    QCOMPARE(view->count(), 3);
    QCOMPARE(view->itemText(1), QString{"rank 1: one.json"});
    view->setFocus();
    press(Qt::Key_Down);
    QVERIFY(QTest::qWaitFor([&] { return summary().contains("stage 1"); }, kPatience));
    QTest::mouseClick(find<QPushButton>("closeTrace"), Qt::LeftButton);
    QCOMPARE(view->currentIndex(), 0);
    QVERIFY(QTest::qWaitFor([&] { return summary().startsWith("Simulated step"); }, kPatience));
    QVERIFY(!table()->isVisible());
    QVERIFY(timeline()->textAlternative().contains("Stage 1"));
  }

  void files_that_are_dropped_together_are_all_opened_and_what_cannot_be_is_told() {
    ask();
    const QString six = traceOf(6, 1, 2, "six.json"), one = traceOf(1, 1, 1.2, "one.json");
    const QString other = written(folder_, "other.json", "{\"neither\": 1}");
    drop({QUrl::fromLocalFile(six), QUrl::fromLocalFile(other), QUrl::fromLocalFile(one)});
    auto* view = find<QComboBox>("traceView");
    QVERIFY(QTest::qWaitFor([&] { return view->count() == 3; }, kPatience));
    QCOMPARE(view->itemText(1), QString{"rank 1: one.json"});
    QCOMPARE(view->itemText(2), QString{"rank 6: six.json"});
    QVERIFY2(window_->message().contains("other.json"), qPrintable(window_->message()));
  }

  void every_gpu_in_a_report_of_nsight_systems_is_a_trace() {
    ask();
    drop({QUrl::fromLocalFile(HEXAPLAN_SOURCE_DIR "/tests/presets/runs/nsight/cloverleaf_2024.sqlite")});
    QVERIFY(laid());
    QVERIFY2(summary().contains("no step marked in it"), qPrintable(summary()));
    drop({QUrl::fromLocalFile("/nowhere/profile.nsys-rep")});
    QVERIFY(refused());
    QVERIFY2(problem().contains("nsys export --type sqlite"), qPrintable(problem()));
  }

  void the_page_s_button_and_the_menu_open_files_and_refuse_what_is_no_trace() {
    ask();
    const QString trace = traceOf(0);
    const QByteArray whole = contentOf(trace);
    const struct {
      QString path;
      const char* says;
    } files[] = {
        {written(folder_, "empty.json", ""), "no event"},
        {written(folder_, "broken.json.gz", "\x1f\x8b\x08 broken"), "trace that torch.profiler wrote"},
        {written(folder_, "nothing.json", "{\"traceEvents\": []}"), "no event"},
        {QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/presets/runs/traces/cpu_torch_2_15.json.gz"),
         "without a device"},
    };
    window_->pages().setCurrentIndex(1);
    for (const auto& [path, says] : files) {
      chooseInDialog(path);
      QTest::mouseClick(find<QPushButton>("openTrace"), Qt::LeftButton);
      QVERIFY(refused());
      QVERIFY2(problem().contains(says), qPrintable(problem()));
      QCOMPARE(find<QComboBox>("traceView")->count(), 1);
      find<QLabel>("traceProblem")->clear();
    }
    // The half that is there is used, and said to be one.
    chooseInDialog(written(folder_, "half.json", whole.left(whole.size() / 2)));
    press(Qt::Key_O, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(laid());
    QVERIFY2(summary().contains("the file ends in the middle"), qPrintable(summary()));
  }

  void reading_says_how_far_it_is_and_can_be_cancelled() {
    ask();
    const QByteArray whole = contentOf(traceOf(0));
    const qsizetype first = whole.indexOf("[\n{\"ph\"") + 2, last = whole.lastIndexOf("\n]}");
    const QByteArray events = whole.mid(first, last - first) + ",\n";
    constexpr qsizetype kLarge = 200'000'000;  // bytes
    QByteArray large = whole.left(first) + events.repeated(static_cast<int>(kLarge / events.size()));
    large += whole.mid(first);
    const QString path = written(folder_, "large.json", large);
    large.clear();
    drop({QUrl::fromLocalFile(path)});
    auto* progress = find<QProgressBar>("traceProgress");
    QVERIFY(QTest::qWaitFor([&] { return progress->isVisible() && progress->value() > 0; }, kPatience));
    QVERIFY(progress->text().contains("large.json"));
    QVERIFY(progress->value() < progress->maximum());
    QTest::mouseClick(find<QPushButton>("cancelTrace"), Qt::LeftButton);
    QVERIFY(QTest::qWaitFor([&] { return !progress->isVisible(); }, 5000));
    QCOMPARE(find<QComboBox>("traceView")->count(), 1);
    QVERIFY(problem().isEmpty());
  }

  void a_trace_before_its_question_waits_for_it() {
    ask();
    const QString trace = traceOf(0);
    const presets::ScenarioRequest asked = window_->document().request();
    window_->document().reset({}, {});
    QVERIFY(answered());
    drop({QUrl::fromLocalFile(trace)});
    QVERIFY(QTest::qWaitFor([&] { return summary().contains("Choose the model"); }, kPatience));
    window_->document().change(asked, "question");
    QVERIFY(answered());
    QVERIFY(laid());
    QVERIFY(summary().contains("100.0 % of the time"));
  }

 private:
  /// The next file dialog is answered with `path`.
  static void chooseInDialog(const QString& path) {
    QTimer::singleShot(0, [path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (dialog == nullptr) return chooseInDialog(path);
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTest::keyClick(name, Qt::Key_Return);
    });
  }
};

}  // namespace hexaplan::gui

int main(int argc, char** argv) {
  QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  QApplication app{argc, argv};
  hexaplan::gui::TraceTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "trace_test.moc"
