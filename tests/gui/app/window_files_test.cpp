// What comes into the real window and what goes out: files, links, reports, exports.
#include <QAction>
#include <QClipboard>
#include <QLabel>
#include <QPrinter>
#include <QPushButton>
#include <QRegularExpression>
#include <QTabWidget>
#include <QTableView>
#include <QTextDocument>
#include <QTextDocumentFragment>
#include <algorithm>
#include <cmath>

#include "gui/app/document/share_text.h"
#include "gui/app/main_window/theme.h"
#include "gui/app/pages/time_page.h"
#include "gui/plot/plot_view.h"
#include "gui/plot/timeline.h"
#include "presets/json/read_json.h"
#include "presets/launch/launch_config.h"
#include "presets/scenario/layout_text.h"
#include "tests/presets/machines/machine_samples.h"
#include "window_fixture.h"

namespace hexaplan::gui {
namespace {

/// A link around any text.
QString shareTextOf(const QByteArray& text) {
  return "hexaplan:scenario/1/" + QString::fromLatin1(qCompress(text).toBase64(
                                      QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals));
}

/// Of two colours, as WCAG 2.1 defines it (w3.org/TR/WCAG21/#dfn-contrast-ratio).
double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& color) {
    const auto linear = [](double c) {
      return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
  };
  const double one = luminance(a), other = luminance(b);
  return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

}  // namespace

class WindowFilesTest : public WindowFixture {
  Q_OBJECT

 private slots:
  void a_downloaded_config_opens_by_menu_and_by_drop() {
    const QString path = kConfig;
    openFile(path);
    QCOMPARE(answer().scenario.model.layers, 32);
    QVERIFY2(recentFiles().contains(path), "an opened file is remembered");
    window_->document().undoStack().undo();
    QVERIFY(answered());
    QVERIFY(!answer().has_model);
    drop({QUrl::fromLocalFile(path)});
    QVERIFY(answered());
    QCOMPARE(answer().scenario.model.layers, 32);
  }

  void unusable_files_are_told_in_one_line_and_change_nothing_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("said");
    QTest::newRow("no json") << QByteArray{"hello"} << ":1:";
    QTest::newRow("unknown model") << QByteArray{R"({"model_type": "lama"})"} << "llama";
    QTest::newRow("misspelt key") << QByteArray{R"({"schema": "hexaplan/scenario/1", "modle": "x"})"}
                                  << "model";
    QTest::newRow("other schema") << QByteArray{R"({"schema": "hexaplan/nothing/1"})"}
                                  << "hexaplan/nothing/1";
    QTest::newRow("empty") << QByteArray{} << ":1:";
  }

  void unusable_files_are_told_in_one_line_and_change_nothing() {
    QFETCH(QByteArray, text);
    QFETCH(QString, said);
    startWith("llama-3.1-8b", "8xH100");
    const auto before = window_->document().request();
    openFile(written(folder_, "broken.json", text));
    QVERIFY2(window_->message().startsWith("Not opened: "), qPrintable(window_->message()));
    QVERIFY2(window_->message().contains(said), qPrintable(window_->message()));
    QVERIFY(window_->document().request() == before);
    openFile(folder_.filePath("missing.json"));
    QVERIFY(window_->message().contains("missing.json"));
  }

  void a_scenario_is_saved_and_opened_as_it_was() {
    startWith("mixtral-8x7b", "64xH100");
    choose("layout.tp", "2");
    choose("layout.ep", "8");
    choose("recipe.recompute", "full");
    const auto saved = window_->document().request();
    const QString path = folder_.filePath("run.json");
    QVERIFY(window_->saveTo(path));
    QVERIFY(!window_->document().isModified());
    choose("recipe.recompute", "none");
    window_->document().markSaved(path);  // nobody is asked whether to save
    openFile(path);
    QVERIFY(window_->document().request() == saved);
    QVERIFY(contentOf(path).contains("hexaplan/scenario/1"));
  }

  void a_report_is_a_page_that_opens_again_and_is_never_saved_over() {
    startWith("llama-3.1-8b", "16xH100");
    choose("layout.tp", "2");
    const auto asked = window_->document().request();
    window_->document().pinBaseline();
    choose("layout.tp", "4");
    const auto present = window_->document().request();
    const QString path = folder_.filePath("plan.html");
    QSignalSpy done{window_.get(), &MainWindow::reportWritten};
    window_->writeReport(path);
    QVERIFY(done.wait(kPatience));
    QVERIFY2(window_->message().startsWith("Written: plan.html"), qPrintable(window_->message()));
    const QByteArray page = contentOf(path);
    for (const char* part : {"comparison", "ledger", "timeline", "evidence"})
      QVERIFY2(page.contains(QByteArray{"<section id=\""} + part + "\">"), part);
    choose("layout.tp", "1");
    window_->document().markSaved({}, SavedAs::Project);  // nobody is asked whether to save
    openFile(path);
    QVERIFY(window_->document().request() == present);
    QVERIFY(!(window_->document().request() == asked));
    QCOMPARE(window_->document().pins().size(), 1U);  // what it was compared with
    QCOMPARE(window_->document().pins().front().name, QString{"baseline"});
    QVERIFY(window_->document().pins().front().evaluation->request.layout == asked.layout);
    QVERIFY(window_->document().path().isEmpty());
    QCOMPARE(contentOf(path), page);
  }

  void a_report_that_cannot_be_written_says_so() {
    startWith("llama-3.1-8b", "16xH100");
    QSignalSpy done{window_.get(), &MainWindow::reportWritten};
    window_->writeReport(folder_.filePath("no/such/folder/plan.html"));
    QVERIFY(done.wait(kPatience));
    QVERIFY(!done[0][1].toString().isEmpty());
    QVERIFY2(window_->message().startsWith("Not saved: "), qPrintable(window_->message()));
  }

  void a_question_that_is_not_understood_has_no_report() {
    const QString path = folder_.filePath("nothing.html");
    QSignalSpy done{window_.get(), &MainWindow::reportWritten};
    window_->writeReport(path);
    QCOMPARE(done.count(), 1);
    QCOMPARE(done[0][1].toString(), QString{"Choose a model and GPUs first."});
    QVERIFY2(window_->message().startsWith("Not saved: "), qPrintable(window_->message()));
    QVERIFY(!QFile::exists(path));
  }

  void a_report_holds_the_search_only_where_it_answers_the_present_question() {
    startWith("llama-3.1-8b", "8xH100");
    const auto written_page = [&] {
      QSignalSpy done{window_.get(), &MainWindow::reportWritten};
      window_->writeReport(folder_.filePath("plans.html"));
      return done.wait(kPatience) ? contentOf(folder_.filePath("plans.html")) : QByteArray{};
    };
    QSignalSpy found{&window_->search(), &SearchJob::found};
    window_->findLayout();
    QVERIFY(found.wait(kPatience));
    QVERIFY(answered());
    QVERIFY(written_page().contains("<section id=\"plans\">"));
    choose("recipe.sequence", "1024");
    const QByteArray later = written_page();
    QVERIFY(later.contains("<section id=\"memory\">"));
    QVERIFY(!later.contains("<section id=\"plans\">"));
  }

  void launch_files_open_and_what_they_leave_open_stays() {
    startWith("llama-3.1-8b", "64xH100");
    const QString path = written(folder_, "train.sh",
                                 "torchrun pretrain_gpt.py --tensor-model-parallel-size 4 "
                                 "--pipeline-model-parallel-size 2 --seq-length 2048 --micro-batch-size 1 "
                                 "--global-batch-size 128 --bf16\n");
    openFile(path);
    QVERIFY2(window_->message().startsWith("Read as Megatron-LM"), qPrintable(window_->message()));
    QVERIFY2(window_->message().contains("do not say the GPUs: they stay"), qPrintable(window_->message()));
    QCOMPARE(answer().scenario.layout.tp, 4);
    QCOMPARE(answer().scenario.layout.pp, 2);
    QCOMPARE(answer().scenario.recipe.sequence, 2048);
    QCOMPARE(QString::fromStdString(answer().scenario.model.name), QString{"llama-3.1-8b"});
    QCOMPARE(answer().scenario.cluster.gpus, 64);
    window_->document().open({}, {});
    openFile(path);
    QVERIFY2(window_->message().contains("do not say the GPUs: choose them"), qPrintable(window_->message()));
  }

  // What `hexaplan estimate --model "layers=8 …" --save-scenario` writes.
  void a_model_by_its_dimensions_opens_and_its_dimensions_change() {
    openFile(written(folder_, "dims.json",
                     R"({"schema": "hexaplan/scenario/1", "cluster": "8xH100", "layout": "tp2",
                         "model": "layers=8 hidden=512 heads=8 ffn=1376 vocab=32000"})"));
    QVERIFY(answer().priced());
    QCOMPARE(answer().scenario.model.layers, 8);
    choose("model.layers", "16");
    QCOMPARE(answer().scenario.model.layers, 16);
    QCOMPARE(answer().scenario.model.hidden, 512);
    QCOMPARE(find<QComboBox>("model")->currentText(), "layers=16 hidden=512 heads=8 ffn=1376 vocab=32000");
    choose("model", "layers=4 hidden=256 heads=4 ffn=512 vocab=1000");
    QVERIFY(answer().priced());
    QCOMPARE(answer().scenario.model.layers, 4);
    const QString problem = window_->document().edit(*findField("model"), "layers=4 hiden=256", false);
    QVERIFY2(problem.contains("hidden"), qPrintable(problem));
  }

  void a_script_with_a_number_of_gpus_asks_for_their_type() {
    const QString path =
        written(folder_, "train.sh",
                "torchrun --nproc_per_node 4 --nnodes 4 pretrain_gpt.py --num-layers 24 "
                "--hidden-size 2048 --num-attention-heads 16 --vocab-size 32000 "
                "--tensor-model-parallel-size 2 --seq-length 2048 "
                "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 128 --bf16\n");
    openFile(path);
    QCOMPARE(answer().scenario.model.layers, 24);
    QVERIFY2(window_->message().contains("16 GPUs"), qPrintable(window_->message()));
    QVERIFY2(!window_->message().contains("--cluster"), qPrintable(window_->message()));
    choose("layout.tp", "4");
    QVERIFY2(!window_->message().isEmpty(), "the number is not lost while something else is set");
    QCOMPARE(find<QPushButton>("offer.1")->text(), "16 × A100-80GB");
    QTest::mouseClick(find<QPushButton>("offer.1"), Qt::LeftButton);
    QVERIFY(answered());
    QVERIFY(answer().priced());
    QVERIFY(window_->message().isEmpty());
    QCOMPARE(answer().scenario.cluster.gpus, 16);
    QCOMPARE(answer().scenario.cluster.gpus_per_node, 4);
    QCOMPARE(answer().scenario.cluster.gpu.name, std::string{"a100-80-sxm"});
    // Where a type is chosen already, it is that many of it.
    choose("cluster.gpu", "h200");
    choose("cluster.gpus", "64");
    openFile(path);
    QCOMPARE(answer().scenario.cluster.gpus, 16);
    QCOMPARE(answer().scenario.cluster.gpu.name, std::string{"h200"});
  }

  void a_message_ends_with_what_it_was_about() {
    startWith("llama-3.1-8b", "8xH100");
    openFile(folder_.filePath("missing.json"));
    QVERIFY(window_->message().startsWith("Not opened: "));
    // White letters on it can be read in every theme.
    for (const Theme theme : {Theme::Light, Theme::Dark}) {
      applyTheme(theme);
      openFile(folder_.filePath("missing.json"));
      const QColor ground = find<QLabel>("message")->palette().color(QPalette::Window);
      QVERIFY2(contrast(ground, find<QLabel>("message")->palette().color(QPalette::WindowText)) >= 4.5,
               qPrintable(ground.name()));
    }
    applyTheme(Theme::Light);
    choose("model", "llama-3.2-1b");
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
    QSignalSpy found{&window_->search(), &SearchJob::found};
    window_->findLayout();
    QVERIFY(found.wait(kPatience));
    QVERIFY(answered());
    QVERIFY2(window_->message().startsWith("Loaded the fastest"), qPrintable(window_->message()));
    window_->pages().setCurrentIndex(2);
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
  }

  void what_was_copied_is_pasted_by_key_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("said");  // empty: it was taken
    QTest::newRow("config.json") << QString::fromUtf8(contentOf(kConfig)) << "";
    QTest::newRow("launch line") << "pretrain_gpt.py --tensor-model-parallel-size 8 --seq-length 1024"
                                 << "";
    QTest::newRow("scenario") << R"({"schema": "hexaplan/scenario/1", "model": "gpt2", "cluster": "8xH100"})"
                              << "";
    QTest::newRow("nothing") << " "
                             << "nothing to paste";
    QTest::newRow("prose") << "hello world"
                           << "Not opened: pasted text";
    QTest::newRow("broken JSON") << "{\"model_type\": "
                                 << "Not opened: pasted text:1";
    QTest::newRow("unknown model") << "{\"model_type\": \"<b>x</b>\"}"
                                   << "Not opened: ";
  }
  void what_was_copied_is_pasted_by_key() {
    QFETCH(QString, text);
    QFETCH(QString, said);
    startWith("mixtral-8x7b", "64xH100");
    const auto before = window_->document().request();
    window_->document().markSaved({});
    QApplication::clipboard()->setText(text);
    press(Qt::Key_V, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(window_->document().request() == before, !said.isEmpty());
    if (!said.isEmpty()) QVERIFY2(window_->message().contains(said), qPrintable(window_->message()));
  }

  void what_machines_say_of_themselves_is_the_cluster() {
    using presets::samples::kTopologyH100;
    // The matrix of links does not say which GPUs: they are asked for.
    choose("model", "llama-3.1-8b");
    QApplication::clipboard()->setText(kTopologyH100);
    press(Qt::Key_V, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY2(window_->message().contains("type of the GPUs"), qPrintable(window_->message()));
    QTest::mouseClick(find<QPushButton>("offer.0"), Qt::LeftButton);
    QVERIFY(answered());
    QCOMPARE(answer().scenario.cluster.gpus, 8);
    QCOMPARE(answer().scenario.cluster.gpus_per_node, 8);
    QCOMPARE(QString::fromStdString(answer().scenario.cluster.gpu.name), "h100-80-sxm");
    QVERIFY2(window_->message().contains("18 NVLinks between any two"), qPrintable(window_->message()));
    QVERIFY2(!window_->message().contains("--"), qPrintable(window_->message()));
    // Beside a question they are of its type; a file that names them changes it.
    choose("cluster.gpu", "b200");
    openFile(written(folder_, "topo.txt", kTopologyH100));
    QCOMPARE(QString::fromStdString(answer().scenario.cluster.gpu.name), "b200");
    openFile(written(folder_, "smi.xml", presets::samples::kSmiA100));
    QCOMPARE(QString::fromStdString(answer().scenario.cluster.gpu.name), "a100-80-sxm");
    QCOMPARE(answer().scenario.cluster.gpus, 4);
    press(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(QString::fromStdString(answer().scenario.cluster.gpu.name), "b200");
  }

  void logs_and_memory_snapshots_stand_beside_the_prediction() {
    const QString runs = QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/presets/runs/");
    openFile(runs + "logs/torchtitan.log");
    QVERIFY2(window_->message().contains("Choose the model, GPUs and layout"),
             qPrintable(window_->message()));
    startWith("llama-3.1-8b", "8xH100");
    choose("framework", "fsdp2");
    const auto* terms = find<QTableView>("terms")->model();
    const auto open_run = [&](const char* file, const QString& part) {
      openFile(runs + file);
      QTRY_VERIFY2_WITH_TIMEOUT(
          terms->rowCount() > 0 && terms->index(0, 0).data().toString().startsWith(part),
          qPrintable(window_->message()), kPatience);
      QVERIFY(find<QWidget>("validationPage")->isVisible());
    };
    open_run("logs/torchtitan.log", "torchtitan");
    QCOMPARE(terms->index(0, 1).data().toString(), "one step");
    QCOMPARE(terms->index(0, 2).data(Qt::UserRole).toDouble(), answer().estimate.time.total().value());
    QVERIFY(terms->index(0, 3).data(Qt::UserRole).toDouble() > 0);
    QVERIFY(find<PlotView>("residuals")->itemCount() >= 1);
    QVERIFY(find<QLabel>("reportTitle")->text().contains("logged times used"));
    open_run("snapshots/fullstep.pickle.gz", "memory snapshot");
    QVERIFY(terms->index(0, 3).data(Qt::UserRole).toDouble() > 0);
    // The project keeps them.
    const QString path = folder_.filePath("kept.hexaplan");
    QVERIFY(window_->saveTo(path));
    open();
    openFile(path);
    QCOMPARE(window_->document().measured().size(), std::size_t{2});
    QVERIFY(window_->document().measured().back()->measured.has_value());
  }

  void tables_of_nccl_tests_and_logs_of_nvidia_smi_stand_beside_the_prediction() {
    const QString table = QStringLiteral(
        HEXAPLAN_SOURCE_DIR "/tests/presets/fabric/nccl_tests/gh200-2x4-slingshot-all_reduce.log");
    startWith("llama-3.2-1b", "8xH100");
    openFile(table);
    QTRY_VERIFY2_WITH_TIMEOUT(window_->message().contains("not compared: the table is of NVIDIA GH200 120GB"),
                              qPrintable(window_->message()), kPatience);
    startWith("llama-3.2-1b", "2x4xgh200+slingshot200");
    openFile(table);
    const auto* terms = find<QTableView>("terms")->model();
    QTRY_COMPARE_WITH_TIMEOUT(terms->rowCount(), 10, kPatience);
    QVERIFY(find<QWidget>("validationPage")->isVisible());
    int row = 0;
    while (row < 10 && terms->index(row, 1).data().toString() != "67,108,864 bytes") ++row;
    QVERIFY(row < 10);
    QVERIFY(terms->index(row, 0).data().toString().contains("all_reduce over 8 ranks on 2 hosts"));
    QCOMPARE(terms->index(row, 3).data(Qt::UserRole).toDouble(), (1090.5e-6 + 1083.5e-6) / 2);
    QVERIFY(terms->index(row, 2).data(Qt::UserRole).toDouble() > 0);
    QCOMPARE(find<PlotView>("residuals")->itemCount(), 10);

    const QString smi =
        written(folder_, "smi.csv", "index, utilization.gpu [%], memory.used [MiB]\n0, 99 %, 20480 MiB\n");
    openFile(smi);
    QTRY_COMPARE_WITH_TIMEOUT(terms->rowCount(), 1, kPatience);
    QCOMPARE(terms->index(0, 3).data(Qt::UserRole).toDouble(), 20480.0 * 1024 * 1024);
    QCOMPARE(terms->index(0, 2).data(Qt::UserRole).toDouble(), answer().estimate.peak().device.value());

    openFile(written(folder_, "bare.csv", "index, utilization.gpu [%]\n0, 99 %\n"));
    QTRY_VERIFY2_WITH_TIMEOUT(window_->message().contains("no column memory.used"),
                              qPrintable(window_->message()), kPatience);
    QVERIFY2(!window_->message().contains("say what ran"), qPrintable(window_->message()));
  }

  void a_file_that_takes_long_to_read_says_so_and_can_be_given_up() {
    startWith("llama-3.1-8b", "8xH100");
    choose("framework", "fsdp2");
    const QByteArray log =
        contentOf(QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/presets/runs/logs/torchtitan.log"));
    constexpr qsizetype kLong = 60'000'000;  // bytes: a second and more
    const QString path = written(folder_, "long.log", log.repeated(kLong / log.size()));
    QSignalSpy opened{window_.get(), &MainWindow::opened};
    window_->open(path);
    QTRY_VERIFY_WITH_TIMEOUT(window_->message().contains("Reading long.log"), kPatience);
    QTest::mouseClick(find<QPushButton>("offer.0"), Qt::LeftButton);
    QVERIFY(window_->message().isEmpty());
    QVERIFY(opened.count() > 0 || opened.wait(kPatience));
    QTest::qWait(500);
    QVERIFY2(window_->document().measured().empty() && window_->message().isEmpty(), "it was given up");
    QVERIFY(!find<QWidget>("validationPage")->isVisible());
    // Not given up, it arrives.
    window_->open(path);
    QTRY_COMPARE_WITH_TIMEOUT(window_->document().measured().size(), std::size_t{1}, kPatience);
    QVERIFY(window_->message().isEmpty());
  }

  void files_are_written_alike_in_every_locale() {
    startWith("llama-3.1-8b", "8xH100");
    choose("cluster.price", "2.5");
    press(Qt::Key_B, Qt::ControlModifier);
    for (const SavedAs as : {SavedAs::Scenario, SavedAs::Project}) {
      const QByteArray usual = window_->document().toFile({}, as);
      const QLocale before;
      QLocale::setDefault(QLocale{QLocale::German});
      const QByteArray german = window_->document().toFile({}, as);
      QLocale::setDefault(before);
      QCOMPARE(german, usual);
      QVERIFY(usual.contains("2.5"));
    }
  }

  void the_step_is_exported_for_perfetto() {
    startWith("llama-3.1-8b", "8xH100");
    window_->pages().setCurrentIndex(1);
    auto* page = find<TimePage>("timePage");
    QTRY_VERIFY_WITH_TIMEOUT(page->timeline().itemCount() > 0, kPatience);
    const QString path = folder_.filePath("trace.json");
    QString problem;
    QVERIFY2(page->exportTrace(path, &problem), qPrintable(problem));
    QVERIFY(contentOf(path).contains("traceEvents"));
    const QString binary = folder_.filePath("trace.pftrace");
    QVERIFY2(page->exportTrace(binary, &problem), qPrintable(problem));
    QVERIFY(contentOf(binary).startsWith('\n') && contentOf(binary).contains("live memory"));
    const QString snapshot = folder_.filePath("step.pickle");
    QVERIFY2(page->exportTrace(snapshot, &problem), qPrintable(problem));
    QVERIFY(contentOf(snapshot).startsWith("\x80\x02") && contentOf(snapshot).contains("segment_alloc"));
    QVERIFY(!page->exportTrace(folder_.filePath("no/such/folder/trace.json"), &problem));
    QVERIFY(!problem.isEmpty());
  }

  void an_executed_run_stands_beside_its_prediction() {
    const QByteArray report = R"({"schema": "hexaplan/run/1", "complete": true, "device": "cpu",
      "scenario": {"schema": "hexaplan/scenario/1", "model": "llama-3.2-1b", "cluster": "2xH100", "layout": "tp2",
                   "framework": "hexaplan", "recipe": {"sequence": 128, "micro_batch": 1, "global_batch": 1}},
      "steps": [{"step": 1, "loss": 11.7, "gradient_norm": 1.0, "learning_rate": 0.001, "seconds": 0.25}],
      "ranks": [{"rank": 0, "stage": 0, "device": "cpu, float32",
                 "memory": {"peak_bytes": 9000000000, "peak_bytes_by_kind": {"parameters": 3000000000}},
                 "phase_seconds": {"forward": 0.1, "gradient_reduction": 0.05},
                 "collectives": [{"operation": "mlp.down", "pass": "forward", "collective": "all_reduce", "group": "tensor",
                                  "messages": 32, "bytes": 67108864, "seconds": 0.02},
                                 {"operation": "x", "collective": "of_tomorrow", "group": "tensor", "messages": 1,
                                  "bytes": 1, "seconds": 0}],
                 "operations": [{"operation": "mlp.up", "pass": "forward", "flops": 2e12, "seconds": 0.5}]}]})";
    openFile(written(folder_, "run.json", report));
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
    QVERIFY(find<QWidget>("validationPage")->isVisible());
    const auto* terms = find<QTableView>("terms")->model();
    QVERIFY(terms->rowCount() >= 3);
    QCOMPARE(terms->index(0, 3).data(Qt::UserRole).toDouble(), 0.25);
    QVERIFY(find<PlotView>("residuals")->itemCount() >= 1);
    QCOMPARE(find<QTableView>("phases")->model()->rowCount(), 2);
    const auto* traffic = find<QTableView>("traffic")->model();
    QCOMPARE(traffic->rowCount(), 1);
    QCOMPARE(traffic->index(0, 0).data().toString(), "all-reduce");
    QCOMPARE(traffic->index(0, 3).data().toString(), "64 MiB");
    QCOMPARE(find<QTableView>("operations")->model()->index(0, 3).data().toString(), "4");
    // What was rejected before it began has nothing to show.
    openFile(written(folder_, "rejected.json", R"({"schema": "hexaplan/run/1", "complete": false})"));
    QVERIFY2(window_->message().contains("rejected before it began"), qPrintable(window_->message()));
  }

  void validated_scenarios_stand_beside_their_predictions_term_by_term() {
    openFile(QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/golden/reports/validation_cpu.json"));
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
    const auto* terms = find<QTableView>("terms")->model();
    auto* scenario = find<QComboBox>("validatedScenario");
    const int scenarios = scenario->count() - 1;
    QVERIFY(scenarios >= 5);
    QCOMPARE(terms->rowCount(), scenarios);  // memory of each; the host is no calibrated hardware
    QCOMPARE(terms->index(0, 0).data().toString(), "one rank");
    QCOMPARE(terms->index(0, 5).data().toString(), "0.0 %");
    QCOMPARE(find<PlotView>("residuals")->itemCount(), scenarios);
    scenario->setCurrentIndex(1);
    emit scenario->activated(1);
    QVERIFY(terms->rowCount() >= 5);
    QCOMPARE(terms->index(1, 1).data().toString(), "parameters");
    QCOMPARE(find<PlotView>("residuals")->itemCount(), terms->rowCount());
    // A report of another kind takes its place.
    openFile(written(folder_, "broken.json", R"({"schema": "hexaplan/validation/1", "scenarios": [{}]})"));
    QVERIFY2(window_->message().contains("name"), qPrintable(window_->message()));
  }

  void why_a_report_is_not_understood_is_said_in_plain_letters() {
    openFile(written(folder_, "later.hexaplan", R"({"schema": "hexaplan/project/1",
      "scenario": {"schema": "hexaplan/scenario/1"},
      "measured": [{"name": "run.json", "report": {"schema": "hexaplan/run/2", "complete": true}}]})"));
    const QString shown = QTextDocumentFragment::fromHtml(find<QLabel>("reportTitle")->text()).toPlainText();
    QVERIFY2(Qt::mightBeRichText(find<QLabel>("reportTitle")->text()), "else its escapes were letters");
    QVERIFY2(shown.startsWith("Not understood here: ") && shown.contains("\"hexaplan/run/2\""),
             qPrintable(shown));
  }

  void the_published_runs_nearest_to_the_question_are_named() {
    openFile(written(folder_, "plan.json",
                     R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100"})"));
    openFile(QStringLiteral(HEXAPLAN_SOURCE_DIR "/tests/golden/reports/validation_cpu.json"));
    QVERIFY(find<QWidget>("validationPage")->isVisible());
    const QString evidence = find<QLabel>("evidence")->text();
    QVERIFY2(evidence.startsWith("nearest published run: "), qPrintable(evidence));
    QVERIFY2(evidence.contains(" measured, "), qPrintable(evidence));
    // The same as a table, and as points of the chart.
    auto* parts = find<QTabWidget>("runParts");
    parts->setCurrentIndex(parts->count() - 1);
    const auto* runs = find<QTableView>("published")->model();
    QVERIFY(runs->rowCount() >= 20);
    QCOMPARE(find<PlotView>("residuals")->itemCount(), runs->rowCount());
    const QString first = find<PlotView>("residuals")->textAlternative();
    QVERIFY2(first.contains(" s"), qPrintable(first));
    QTest::mouseClick(find<QWidget>("forgetMeasured"), Qt::LeftButton);
    QVERIFY2(find<QWidget>("published")->isVisible(), "without a report, too");
    QCOMPARE(find<PlotView>("residuals")->itemCount(), runs->rowCount());
  }

  void measured_rows_are_plotted_against_their_predictions() {
    const QByteArray rows = R"({"schema": "hexaplan/accuracy/1", "rows": [
      {"case_id": "a", "source": "x", "time": {"predicted": 1.1, "measured": 1.0, "error": 0.1},
       "memory": {"allocated": {"predicted": 5e9, "measured": 6e9, "error": -0.17}}},
      {"case_id": "b", "source": "y", "skipped": "no such model"}]})";
    openFile(written(folder_, "accuracy.json", rows));
    QVERIFY2(window_->message().isEmpty(), qPrintable(window_->message()));
    QCOMPARE(find<PlotView>("residuals")->itemCount(), 1);
    find<QComboBox>("residualFigure")->setCurrentIndex(1);
    QCOMPARE(find<PlotView>("residuals")->itemCount(), 1);
  }

  void the_answer_is_exported_as_the_command_prints_it() {
    startWith("llama-3.1-8b", "16xH100");
    choose("layout.tp", "2");
    const QString path = folder_.filePath("answer.json");
    QVERIFY(window_->exportAnswer(path));
    const auto answer_file = presets::parse_json(contentOf(path).toStdString(), "answer.json");
    QCOMPARE(*answer_file.root.find("schema"), presets::JsonValue{"hexaplan/estimate/1"});
    const auto* scenario = answer_file.root.find("scenario");
    QVERIFY(scenario != nullptr);
    QVERIFY(presets::read_scenario({"answer.json", *scenario}).layout.layout == answer().scenario.layout);
    QVERIFY2(contentOf(path).contains(QByteArray::fromStdString(
                 presets::to_text(presets::JsonValue{answer().estimate.time.total().value()}))),
             "the step that the tile shows");
    QVERIFY(!window_->exportAnswer(folder_.filePath("no/such/folder.json")));
    QVERIFY(window_->message().startsWith("Not saved: "));
  }

  void the_command_line_asks_the_same() {
    startWith("llama-3.1-8b", "64xH100");
    choose("layout.tp", "4");
    choose("recipe.sequence", "8k");
    find<QAction>("actionCopyCommand")->trigger();
    const QString command = QApplication::clipboard()->text();
    QCOMPARE(command, "hexaplan estimate --model llama-3.1-8b --cluster 64xH100 --layout tp4 --seq 8192");
    choose("model.layers", "16");
    find<QAction>("actionCopyCommand")->trigger();
    QVERIFY(QApplication::clipboard()->text().startsWith("hexaplan estimate --scenario - <<'END'\n{"));
  }

  void a_page_is_printed_as_pdf() {
    startWith("llama-3.1-8b", "8xH100");
    const QString path = folder_.filePath("page.pdf");
    QPrinter printer;
    printer.setOutputFormat(QPrinter::PdfFormat);
    printer.setOutputFileName(path);
    window_->printTo(printer);
    QVERIFY(contentOf(path).startsWith("%PDF"));
    QVERIFY(contentOf(path).size() > 5000);
  }

  void a_share_link_carries_the_whole_question() {
    openFile(kConfig);
    presets::ScenarioRequest request = window_->document().request();
    request.cluster = "64xH100";
    window_->document().change(std::move(request), "cluster");
    choose("layout.tp", "4");
    choose("recipe.recompute", "full");
    const auto asked = window_->document().request();
    find<QAction>("actionShare")->trigger();
    const QString link = QApplication::clipboard()->text();
    QVERIFY2(QRegularExpression{"^hexaplan:scenario/1/[A-Za-z0-9_-]+$"}.match(link).hasMatch(),
             qPrintable(link));
    window_ = std::make_unique<MainWindow>();
    QApplication::clipboard()->setText("see <" + link + ">, please");
    find<QAction>("actionPasteShare")->trigger();
    QVERIFY(answered());
    QVERIFY(window_->document().request() == asked);
    window_->document().undoStack().undo();
    QVERIFY(window_->document().request() == presets::ScenarioRequest{});
  }

  void broken_share_links_are_told_and_change_nothing_data() {
    QTest::addColumn<QString>("link");
    QTest::addColumn<QString>("said");
    QTest::newRow("none") << "hello"
                          << "no share link";
    QTest::newRow("cut off") << "hexaplan:scenario/1/AAAB"
                             << "complete link";
    QTest::newRow("claims to be huge") << "hexaplan:scenario/1/_____wAAAAAAAAAA"
                                       << "complete link";
    QTest::newRow("of a later version") << "hexaplan:scenario/2/AAAB"
                                        << "newer hexaplan";
    QTest::newRow("no scenario") << shareTextOf("[1]") << "object";
  }
  void broken_share_links_are_told_and_change_nothing() {
    QFETCH(QString, link);
    QFETCH(QString, said);
    startWith("llama-3.1-8b", "8xH100");
    const auto before = window_->document().request();
    window_->openShareLink(link);
    QVERIFY2(window_->message().contains(said), qPrintable(window_->message()));
    QVERIFY(window_->document().request() == before);
  }

  void what_another_program_changed_is_reloaded_or_kept() {
    startWith("llama-3.1-8b", "8xH100");
    const QString path = folder_.filePath("shared.json");
    QVERIFY(window_->saveTo(path));
    const auto mine = window_->document().request();
    const auto changeOutside = [&](int tp) {
      QTest::qWait(20);
      written(
          folder_, "shared.json",
          QString{
              R"({"schema": "hexaplan/scenario/1", "model": "llama-3.1-8b", "cluster": "8xH100", "layout": "tp%1"})"}
              .arg(tp)
              .toUtf8());
      return QTest::qWaitFor(
          [&] { return window_->message().contains("Another program changed shared.json"); }, kPatience);
    };
    QVERIFY(changeOutside(2));
    QVERIFY(window_->document().request() == mine);
    QTest::mouseClick(find<QPushButton>("offer.1"), Qt::LeftButton);
    QVERIFY2(window_->document().isModified(), "what is seen is not what is on the disk");
    QVERIFY(window_->message().isEmpty());
    QVERIFY(changeOutside(4));
    QTest::mouseClick(find<QPushButton>("offer.0"), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(window_->document().request().layout.layout.tp, 4, kPatience);
    QVERIFY(!window_->document().isModified());
    window_->document().undoStack().undo();
    QVERIFY(window_->document().request() == mine);
    // Our own saving is not another program's.
    QVERIFY(window_->saveTo(path));
    QTest::qWait(400);
    QVERIFY(window_->message().isEmpty());
  }

  void a_plan_is_written_for_its_framework() {
    startWith("llama-3.1-8b", "16xH100");
    choose("layout.tp", "4");
    for (const presets::LaunchFormat& format : presets::launch_formats()) {
      const QString path =
          folder_.filePath(QString::fromUtf8(format.file.data(), static_cast<int>(format.file.size())));
      if (presets::is_trainer(format.launcher)) {
        QVERIFY2(!window_->exportLaunch(path, format), "a trainer cuts no layers");
        QVERIFY(window_->message().contains("Hugging Face"));
        continue;
      }
      if (format.launcher == presets::Launcher::Torchtitan) {
        QVERIFY2(!window_->exportLaunch(path, format), "whole replicas are data-parallel alone there");
        QVERIFY(window_->message().contains("torchtitan"));
        continue;
      }
      QVERIFY(window_->exportLaunch(path, format));
      QVERIFY(contentOf(path).contains('4'));
      QVERIFY2(window_->message().contains("learning rate"), "what is left to do is said");
    }
    QVERIFY(contentOf(folder_.filePath("megatron.sh")).contains("--tensor-model-parallel-size 4"));
    QVERIFY(
        !window_->exportLaunch(folder_.filePath("no/such/folder/x.sh"), presets::launch_formats().front()));
  }
};

}  // namespace hexaplan::gui

QTEST_MAIN(hexaplan::gui::WindowFilesTest)
#include "window_files_test.moc"
