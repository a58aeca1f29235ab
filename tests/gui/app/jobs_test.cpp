// What people come for, done as they do it: by mouse and keys, each job in at most five clicks, and no number
// that is wrong or hidden at its end.
#include <QClipboard>
#include <QFileDialog>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QTimer>
#include <algorithm>

#include "gui/app/jobs/search_job.h"
#include "gui/models/number_text.h"
#include "window_fixture.h"

namespace hexaplan::gui {

class JobsTest : public WindowFixture {
  Q_OBJECT

  int clicks_ = 0;

  void click(QWidget* at) {
    QVERIFY(at != nullptr);
    QVERIFY2(at->isVisible() && at->isEnabled(), qPrintable(at->objectName()));
    window_->activateWindow();  // offscreen, nobody does it when a list closes
    QVERIFY(QTest::qWaitForWindowActive(window_.get()));
    ++clicks_;
    QTest::mouseClick(at, Qt::LeftButton);
    QVERIFY(answered());
  }
  /// A click into a field's box, and a value with Enter.
  void fill(const char* field, const QString& value) {
    auto* box = find<QComboBox>(field);
    QVERIFY2(box != nullptr, field);
    click(box->lineEdit());
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(box));
    box->lineEdit()->selectAll();
    QTest::keyClicks(QApplication::focusWidget(), value);
    press(Qt::Key_Return);
    QCOMPARE(box->lineEdit()->text(), value);
  }
  QString badge() { return find<QLabel>("badge")->text(); }
  /// What stands at the top is the answer, the chance of running out of memory with it where it matters.
  void expectHonest() {
    const Evaluation& e = answer();
    QVERIFY(e.priced());
    const double risk = e.estimate.out_of_memory_probability;
    const bool at_risk = e.fits() && risk > 0.05;
    QVERIFY2(badge().startsWith(!e.fits() ? "Does not fit"
                                : at_risk ? "At risk"
                                          : "Fits"),
             qPrintable(badge()));
    if (at_risk) QVERIFY2(badge().contains(percentText(risk)), qPrintable(badge()));
    QVERIFY2(says(bytesText(e.peakStage().needed) + " of "), "the peak");
    QVERIFY2(says(secondsText(e.estimate.time.total())), "the step");
  }
  /// Whether a line at the top begins so.
  bool says(const QString& text) {
    const auto labels = find<QWidget>("verdict")->findChildren<QLabel*>();
    return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) {
      return label->isVisible() && label->text().startsWith(text);
    });
  }

 private slots:
  void a_llama_70b_on_64_h100_with_tp8_and_pp4() {
    clicks_ = 0;
    // The keyboard is in the model's box.
    QTest::keyClicks(QApplication::focusWidget(), "llama-3.1-70b");
    press(Qt::Key_Return);
    click(find<QPushButton>("startCluster.64xH100"));
    fill("layout.tp", "8");
    fill("layout.pp", "4");
    QVERIFY2(clicks_ <= 5, qPrintable(QString::number(clicks_)));
    QCOMPARE(answer().scenario.layout.tp, 8);
    QCOMPARE(answer().scenario.layout.pp, 4);
    QCOMPARE(answer().scenario.cluster.gpus, 64);
    expectHonest();
  }

  void the_best_layout_for_256_gpus() {
    startWith("llama-3.1-70b", "64xH100");
    clicks_ = 0;
    fill("cluster.gpus", "256");
    QSignalSpy found{&window_->search(), &SearchJob::found};
    press(Qt::Key_F, Qt::ControlModifier);
    QVERIFY(found.wait(kPatience));
    QVERIFY(answered());
    QVERIFY2(clicks_ <= 5, qPrintable(QString::number(clicks_)));
    QCOMPARE(answer().scenario.cluster.gpus, 256);
    QVERIFY(answer().fits());
    QVERIFY(answer().estimate.out_of_memory_probability <= 0.05);
    expectHonest();
    // It is the plan that the search page lists first.
    press(Qt::Key_3, Qt::ControlModifier);
    const auto* plans = find<QTableView>("plans")->model();
    QVERIFY(plans->rowCount() > 0);
    QVERIFY(answer().scenario.layout == window_->search().result()->ranking.plans.front().plan.layout);
  }

  void two_layouts_side_by_side() {
    startWith("llama-3.1-70b", "64xH100");
    choose("layout.tp", "8");
    choose("layout.pp", "4");
    const auto batch = answer().scenario.recipe.global_batch;
    clicks_ = 0;
    press(Qt::Key_B, Qt::ControlModifier);
    fill("layout.tp", "4");
    press(Qt::Key_4, Qt::ControlModifier);
    QVERIFY2(clicks_ <= 5, qPrintable(QString::number(clicks_)));
    QCOMPARE(answer().scenario.recipe.global_batch, batch);
    expectHonest();
    const auto* table = find<QTableView>("comparison")->model();
    QStringList first;
    for (int row = 0; row < 3; ++row) first.append(table->index(row, 1).data().toString());
    QVERIFY2(first.contains("Tensor parallel") && first.contains("Data parallel"),
             qPrintable(first.join(", ")));
    QVERIFY2(!first.contains("Global batch"), qPrintable(first.join(", ")));
  }

  void a_config_and_a_launch_command_from_elsewhere() {
    clicks_ = 0;
    QApplication::clipboard()->setText(QString::fromUtf8(contentOf(kConfig)));
    press(Qt::Key_V, Qt::ControlModifier | Qt::ShiftModifier);
    QApplication::clipboard()->setText(
        "torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 "
        "--pipeline-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer --seq-length 8192 "
        "--micro-batch-size 1 --global-batch-size 256 --bf16");
    press(Qt::Key_V, Qt::ControlModifier | Qt::ShiftModifier);
    click(find<QPushButton>("offer.0"));  // of the type of the 64 GPUs
    QVERIFY2(clicks_ <= 5, qPrintable(QString::number(clicks_)));
    const costmodel::Scenario& asked = answer().scenario;
    QCOMPARE(asked.model.layers, 32);
    QCOMPARE(asked.cluster.gpus, 64);
    QCOMPARE(asked.layout.tp, 4);
    QCOMPARE(asked.layout.pp, 2);
    QCOMPARE(asked.recipe.sequence, 8192);
    QCOMPARE(asked.recipe.global_batch, 256);
    expectHonest();
  }

  void a_page_for_somebody_without_the_program() {
    startWith("llama-3.1-70b", "64xH100");
    choose("layout.tp", "8");
    choose("layout.pp", "4");
    clicks_ = 0;
    const QString path = folder_.filePath("plan.html");
    auto* timer = new QTimer{window_.get()};
    connect(timer, &QTimer::timeout, window_.get(), [timer, path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (dialog == nullptr) return;
      timer->deleteLater();
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTest::keyClick(name, Qt::Key_Return);
    });
    timer->start(20);
    QSignalSpy written{window_.get(), &MainWindow::reportWritten};
    press(Qt::Key_R, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(!written.isEmpty() || written.wait(kPatience));
    QVERIFY2(clicks_ <= 5, qPrintable(QString::number(clicks_)));
    const QString page = QString::fromUtf8(contentOf(path));
    QVERIFY(page.contains(percentText(answer().estimate.out_of_memory_probability)));
    QVERIFY(page.contains(bytesText(answer().peakStage().needed)));
    QVERIFY(page.contains(secondsText(answer().estimate.time.total())));
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::JobsTest)
#include "jobs_test.moc"
