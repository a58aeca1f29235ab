#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QLocale>
#include <QSortFilterProxyModel>
#include <array>
#include <vector>

#include "gui/models/calibration_model.h"
#include "gui/models/comparison_model.h"
#include "gui/models/ledger_tree_model.h"
#include "gui/models/number_text.h"
#include "gui/models/plan_table_model.h"
#include "gui/models/report_model.h"
#include "gui/models/table_export.h"
#include "presets/scenario/scenario_request.h"
#include "tests/gui/support/example_views.h"
#include "validator/executor/report/execution_report.h"
#include "validator/measure/accuracy/score.h"

namespace hexaplan::gui {
namespace {

using costmodel::Bytes;
using costmodel::Seconds;
using Tester = QAbstractItemModelTester;
constexpr auto kFatal = Tester::FailureReportingMode::Fatal;

LedgerNode ledgerOf(const Example& example, int stage) {
  const costmodel::StageMemory& memory = example.estimate.stages[static_cast<std::size_t>(stage)];
  return ledgerTree(costmodel::build_ledger(example.scenario, stage), memory.instant, memory);
}

planner::Ranking ranking() {
  const Example large = largeExample(16);
  planner::Ranking out;
  for (const double seconds : {4.0, 5.0, 12.0}) {
    planner::RankedPlan plan{.plan = {.layout = large.scenario.layout, .recipe = large.scenario.recipe},
                             .estimate = large.estimate};
    plan.plan.price = {.step = Seconds{seconds},
                       .peak = Bytes{60e9},
                       .capacity = Bytes{80e9},
                       .gpus = 16384,
                       .tokens_per_second_per_gpu = 400,
                       .mfu = 0.4,
                       .risk = 0.03};
    out.plans.push_back(plan);
  }
  out.plans[0].refined_from = out.plans[0].plan;
  out.plans[0].refined_from->price.step = out.plans[0].estimate.time.total() + Seconds{0.25};
  out.rejections = {
      {.rule = "heads-divide-by-tp",
       .candidates = 120,
       .reason = "40 heads do not split over tp=16",
       .advice = "tp=8 does",
       .nearest = {{.dp = 2, .tp = 8}}},
      {.rule = "fits-in-memory", .candidates = 9, .reason = "90 GiB of 80", .advice = "more stages"}};
  return out;
}

TEST(number_text, speaks_the_users_locale_and_writes_units) {
  EXPECT_EQ(secondsText(Seconds{12.3e-6}), "12.3 µs");
  EXPECT_EQ(changeText(80, 60), "−25.0 %");
  EXPECT_EQ(bytesText(Bytes{-1.5 * 1073741824}), "−1.5 GiB");
  EXPECT_EQ(changeText(0, 60), "");
  EXPECT_EQ(changeText(-16, 23), "") << "from too little memory to some to spare is no percentage";
  EXPECT_EQ(signedText(0, "0 B"), "0 B");
  EXPECT_EQ(changeText(1e9, 1e9 + 1), "0.0 %") << "what rounds to nothing has no sign";
  EXPECT_EQ(changeText(1e9, 1e9 - 1), "0.0 %");
  EXPECT_EQ(changeText(1000, 999), "−0.1 %");
  QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
  EXPECT_EQ(bytesText(Bytes{1.5 * 1073741824}), "1,5 GiB");
  EXPECT_EQ(countText(16384), "16.384");
  EXPECT_EQ(exportText(0.5, CellUnit::Seconds), "0.5") << "files keep the C locale";
  QLocale::setDefault(QLocale::c());
  EXPECT_EQ(bytesText(Bytes{85e9}, ByteUnit::Decimal), "85 GB");
}

/// The sum of everything below, by hand.
double sumOfLeaves(const LedgerNode& node) {
  if (node.children.empty()) return node.bytes;
  double sum = 0;
  for (const LedgerNode& child : node.children) sum += sumOfLeaves(child);
  return sum;
}

// The bars draw StageMemory::on_device: rows below a bar that sum to less would hide where memory goes.
TEST(ledger_tree, rows_of_every_stage_add_up_to_its_bar_to_the_byte) {
  for (const Example& e : {largeExample(4), example("llama-3.1-70b", "64xH100", "tp8 pp4 dp2", 8192, 32),
                           example("llama-3.1-8b", "8xH100", "fsdp dp8", 4096, 64),
                           example("llama-3.1-8b", "8xH100", "pp4 dp2 zb1p", 4096, 64),
                           example("deepseek-v3", "256x8xH800", "ep64 pp16 dp128 zero1", 4096, 15360)}) {
    ASSERT_FALSE(e.estimate.stages.empty()) << "a rule rejects the example";
    for (const costmodel::StageMemory& stage : e.estimate.stages) {
      const LedgerNode root =
          ledgerTree(costmodel::build_ledger(e.scenario, stage.stage), stage.instant, stage);
      EXPECT_NEAR(sumOfLeaves(root), stage.device.value(), 0.5);
      EXPECT_NEAR(root.bytes, stage.device.value(), 0.5);
      const costmodel::MemoryBreakdown bar = stage.on_device();
      for (const LedgerNode& kind : root.children) {
        EXPECT_NEAR(kind.bytes, bar.of(kind.kind).value(), 0.5) << kind.name.toStdString();
        for (std::size_t i = 1; i < kind.children.size(); ++i) {
          EXPECT_GE(kind.children[i - 1].bytes, kind.children[i].bytes) << "largest first";
        }
      }
    }
  }
}

// Where the schedule is replayed, tensors of one instant are not what is alive at the peak.
TEST(ledger_tree, a_replayed_peak_adds_up_too) {
  for (const char* layout : {"pp4 dp2 zb1p", "zero2 dp8", "fsdp dp8"}) {
    Example e = example("llama-3.1-8b", "8xH100", layout, 4096, 64);
    e.scenario.framework = presets::look_up_framework("hexaplan");
    e.estimate = costmodel::estimate_step(e.scenario, e.calibration);
    ASSERT_FALSE(e.estimate.stages.empty()) << layout;
    for (const costmodel::StageMemory& stage : e.estimate.stages) {
      const LedgerNode root =
          ledgerTree(costmodel::build_ledger(e.scenario, stage.stage), stage.instant, stage);
      EXPECT_NEAR(sumOfLeaves(root), stage.device.value(), 0.5) << layout;
      for (const LedgerNode& kind : root.children)
        EXPECT_NEAR(kind.bytes, stage.on_device().of(kind.kind).value(), 0.5) << kind.name.toStdString();
    }
  }
}

TEST(ledger_tree, what_the_allocator_keeps_and_the_context_are_rows) {
  const Example e = example("llama-3.1-70b", "64xH100", "tp8 pp4 dp2", 8192, 32);
  LedgerTreeModel model;
  model.setTree(ledgerOf(e, 0));
  const auto bytes = [&](const char* row) {
    return model.find(row).siblingAtColumn(LedgerTreeModel::kBytes).data(kSortRole).toDouble();
  };
  const costmodel::StageMemory& stage = e.estimate.stages[0];
  EXPECT_NEAR(bytes("reserved by the allocator, not in use"), (stage.device - stage.at_peak.total()).value(),
              0.5);
  EXPECT_GT(bytes("reserved by the allocator, not in use"), 1e9) << "gigabytes that had no row";
  EXPECT_GT(bytes("context"), 0);
  EXPECT_GT(bytes("communicators"), 0);
}

TEST(ledger_tree, between_steps_the_allocator_holds_what_it_reserved_at_the_peak) {
  const Example e = largeExample(4);
  const costmodel::StageMemory& stage = e.estimate.stages[0];
  const LedgerNode root = ledgerTree(costmodel::build_ledger(e.scenario, 0), costmodel::kIdle, stage);
  EXPECT_NEAR(sumOfLeaves(root), stage.device.value(), 0.5);
}

TEST(ledger_tree_model, is_a_model_and_stays_one_when_the_ledger_changes) {
  LedgerTreeModel model;
  const Tester tester(&model, kFatal);
  const auto proxy = std::unique_ptr<QSortFilterProxyModel>(sortedAndFiltered(&model, nullptr));
  const Tester proxy_tester(proxy.get(), kFatal);
  const Example large = largeExample(4);
  model.setTree(ledgerOf(large, 0));
  ASSERT_GT(model.rowCount(), 3);
  proxy->sort(LedgerTreeModel::kBytes, Qt::DescendingOrder);
  proxy->setFilterFixedString("qkv");
  model.setTree(ledgerOf(large, 3));
  model.setByteUnit(ByteUnit::Decimal);
  model.setTree({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(ledger_tree_model, rows_have_share_exact_bytes_and_the_formula_in_their_tool_tips) {
  LedgerTreeModel model;
  model.setTree(ledgerOf(largeExample(4), 0));
  double shares = 0;
  for (int row = 0; row < model.rowCount(); ++row) {
    shares += model.index(row, LedgerTreeModel::kShare).data(kSortRole).toDouble();
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  const QModelIndex tensor = model.find("mlp.down.weight");
  ASSERT_TRUE(tensor.isValid());
  EXPECT_TRUE(tensor.parent().isValid());
  EXPECT_TRUE(tensor.data(Qt::ToolTipRole).toString().contains("docs/formulas.md"));
  const QModelIndex bytes = tensor.siblingAtColumn(LedgerTreeModel::kBytes);
  EXPECT_TRUE(bytes.data(Qt::ToolTipRole).toString().endsWith(" bytes"));
  EXPECT_FALSE(model.find("no such tensor").isValid());
}

TEST(sorted_and_filtered, sorts_by_numbers_not_by_their_texts_and_keeps_ancestors) {
  LedgerTreeModel model;
  model.setTree(ledgerOf(largeExample(4), 0));
  const auto proxy = std::unique_ptr<QSortFilterProxyModel>(sortedAndFiltered(&model, nullptr));
  proxy->sort(LedgerTreeModel::kBytes, Qt::AscendingOrder);
  for (int row = 1; row < proxy->rowCount(); ++row) {
    EXPECT_LE(proxy->index(row - 1, LedgerTreeModel::kBytes).data(kSortRole).toDouble(),
              proxy->index(row, LedgerTreeModel::kBytes).data(kSortRole).toDouble());
  }
  proxy->setFilterFixedString("mlp.down.weight");
  ASSERT_GT(proxy->rowCount(), 0);
  EXPECT_LT(proxy->rowCount(), model.rowCount());
}

TEST(plan_table_model, shows_a_ranking_with_units_and_sorts_by_value) {
  PlanTableModel model;
  const Tester tester(&model, kFatal);
  model.setRanking(ranking());
  ASSERT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.index(0, 2).data().toString(), "4 s") << "of the plan that loading the row loads";
  EXPECT_EQ(model.index(0, 4).data().toString(), "3.0 %") << "chance of running out of memory";
  EXPECT_EQ(model.index(0, 3).data().toString(), "55.9 GiB");
  model.setByteUnit(ByteUnit::Decimal);
  EXPECT_EQ(model.index(0, 3).data().toString(), "60 GB");
  EXPECT_TRUE(model.index(0, 1).data().toString().contains("tp8"))
      << model.index(0, 1).data().toString().toStdString();
  EXPECT_TRUE(
      model.index(0, 2).data(Qt::ToolTipRole).toString().contains("250 ms faster than with equal stages"));
  const auto proxy = std::unique_ptr<QSortFilterProxyModel>(sortedAndFiltered(&model, nullptr));
  proxy->sort(2, Qt::DescendingOrder);
  EXPECT_EQ(proxy->index(0, 2).data().toString(), "12 s") << "12 after 5: numbers, not letters";
  for (int column = 0; column < model.columnCount(); ++column) {
    EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
    EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
  }
}

TEST(plan_table_model, says_no_gain_of_a_plan_that_cannot_be_priced_here) {
  constexpr int kGain = 12;
  planner::Ranking found = ranking();
  PlanTableModel model;
  model.setRanking(found);
  ASSERT_EQ(model.headerData(kGain, Qt::Horizontal, Qt::DisplayRole).toString(), "uneven gain");
  EXPECT_EQ(model.index(0, kGain).data().toString(), "250 ms");
  found.plans.front().estimate = {};  // as it is read from a file whose model is not here
  model.setRanking(found);
  EXPECT_EQ(model.index(0, kGain).data(kSortRole), QVariant{});
  EXPECT_FALSE(model.index(0, 2).data(Qt::ToolTipRole).toString().contains("faster"));
}

TEST(rejection_model, tells_rule_reason_and_what_would_pass) {
  RejectionModel model;
  const Tester tester(&model, kFatal);
  model.setRanking(ranking());
  ASSERT_EQ(model.rowCount(), 2);
  EXPECT_EQ(model.index(0, 0).data().toString(), "120");
  EXPECT_EQ(model.index(0, 2).data().toString(), "40 heads do not split over tp=16");
  EXPECT_TRUE(model.index(0, 4).data().toString().contains("tp8"));
}

QString cell(const ComparisonModel& model, const QString& figure, int column) {
  for (int row = 0; row < model.rowCount(); ++row) {
    if (model.index(row, 1).data().toString() == figure) return model.index(row, column).data().toString();
  }
  return "no such row";
}

TEST(comparison_model, shows_every_difference_absolute_and_relative) {
  ComparisonModel model;
  const Tester tester(&model, kFatal);
  EXPECT_EQ(model.columnCount(), 0);
  Example before = example("llama-3.1-8b", "8xH100", "dp8", 8192, 128);
  Example now = example("llama-3.1-8b", "8xH100", "tp2 dp4 zero1 sp", 8192, 128);
  before.scenario.recipe.tokens = now.scenario.recipe.tokens = 15'000'000'000'000;
  model.setStates({{"baseline", figuresOf(before.scenario, before.estimate)},
                   {"now", figuresOf(now.scenario, now.estimate)},
                   {"again", figuresOf(before.scenario, before.estimate)}});
  ASSERT_EQ(model.columnCount(), 9);
  const Bytes was = before.estimate.stages[0].device, is = now.estimate.stages[0].device;
  EXPECT_EQ(cell(model, "on the device", 2), bytesText(was));
  EXPECT_EQ(cell(model, "on the device", 3), bytesText(is));
  EXPECT_EQ(cell(model, "on the device", 4), "−" + bytesText(was - is));
  EXPECT_EQ(cell(model, "on the device", 5), changeText(was.value(), is.value()) + " better")
      << "not by colour alone";
  EXPECT_EQ(cell(model, "on the device", 7), "0 B") << "the third equals the first";
  EXPECT_EQ(cell(model, "on the device", 8), "0.0 %");
  EXPECT_EQ(cell(model, "expert-parallel comm", 2), "no such row") << "nothing to say in any state";
  EXPECT_TRUE(cell(model, "MFU", 4).endsWith(" points"));
  EXPECT_THAT(cell(model, "MFU", 5).toStdString(), testing::MatchesRegex(".* points (better|worse)"))
      << "no share of a share beside points";
  EXPECT_TRUE(cell(model, "to spare", 4).contains("GiB"));
  EXPECT_EQ(cell(model, "to spare", 5), "better") << "a share of what is left says nothing";
  const auto row_of_device = [&] {
    for (int row = 0; row < model.rowCount(); ++row) {
      if (model.index(row, 1).data().toString() == "on the device") return row;
    }
    return -1;
  }();
  EXPECT_EQ(model.verdict(model.index(row_of_device, 4)), ComparisonModel::Verdict::Better) << "less memory";
  EXPECT_EQ(model.verdict(model.index(row_of_device, 7)), ComparisonModel::Verdict::Same);
  model.setHideEmpty(false);
  EXPECT_EQ(cell(model, "expert-parallel comm", 2), "0 s");
}

TEST(comparison_model, inputs_are_rows_only_where_they_differ) {
  const auto state = [](const char* name, const char* batch, double time) {
    return ComparedState{name,
                         {{.group = "Recipe", .name = "Global batch", .unit = CellUnit::Text, .text = batch},
                          {.group = "Recipe", .name = "Precision", .unit = CellUnit::Text, .text = "bf16"},
                          {"t", "step", "", CellUnit::Seconds, time}}};
  };
  ComparisonModel model;
  const Tester tester(&model, kFatal);
  model.setStates({state("Baseline", "32", 1), state("Now", "64", 2)});
  ASSERT_EQ(model.rowCount(), 2);
  EXPECT_EQ(cell(model, "Global batch", 2), "32");
  EXPECT_EQ(cell(model, "Global batch", 3), "64");
  EXPECT_EQ(cell(model, "Global batch", 4), "differs");
  EXPECT_EQ(cell(model, "step", 5), "+100.0 % worse");
  model.setStates({state("Baseline", "32", 1), state("Now", "32", 2)});
  EXPECT_EQ(cell(model, "Global batch", 2), "no such row");
}

TEST(comparison_model, a_rejected_layout_has_no_numbers_and_no_differences) {
  const Example good = example("llama-3.1-8b", "8xH100", "tp2 dp4", 8192, 128);
  costmodel::Estimate rejected;
  rejected.verdict = costmodel::Rejected{"rule", "reason", "advice"};
  ComparisonModel model;
  model.setStates(
      {{"good", figuresOf(good.scenario, good.estimate)}, {"bad", figuresOf(good.scenario, rejected)}});
  EXPECT_EQ(cell(model, "one step", 3), "");
  EXPECT_EQ(cell(model, "one step", 4), "");
}

TEST(report_model, shows_the_error_of_every_term) {
  ReportModel model;
  const Tester tester(&model, kFatal);
  model.setRows({{"one step", CellUnit::Seconds, 1.1, 1.0, "time"},
                 {"parameters", CellUnit::Bytes, 2e9, std::nullopt, "memory"}});
  EXPECT_EQ(model.index(0, 2).data().toString(), "1.1 s");
  EXPECT_EQ(model.index(0, 4).data().toString(), "+100 ms");
  EXPECT_EQ(model.index(0, 5).data().toString(), "+10.0 %");
  EXPECT_EQ(model.index(1, 5).data().toString(), "") << "not measured";
  EXPECT_EQ(model.index(0, 2).data(kExportRole).toString(), "1.1 s") << "the head cannot name the unit";
}

TEST(report_rows, take_the_fullest_rank_and_the_median_step) {
  const Example e = largeExample(4);
  validator::ExecutionReport report;
  for (const double seconds : {3.0, 1.0, 2.0}) report.steps.push_back({.time = Seconds{seconds}});
  report.ranks.resize(2);
  report.ranks[0].memory.peak_bytes = 10;
  report.ranks[1] = {.rank = 1, .stage = 2};
  report.ranks[1].memory.peak_bytes = 30;
  report.ranks[1].memory.peak_by_kind[static_cast<std::size_t>(costmodel::TensorKind::Gradient)] = 20;
  const std::vector<ReportRow> rows = reportRows(e.scenario, e.estimate, report);
  ASSERT_GE(rows.size(), 3U);
  EXPECT_EQ(rows[0].measured, 2.0);
  EXPECT_EQ(rows[1].term, "allocated, rank 1");
  EXPECT_EQ(rows[1].measured, 30.0);
  const auto gradients =
      std::find_if(rows.begin(), rows.end(), [](const auto& r) { return r.term == "gradients"; });
  ASSERT_NE(gradients, rows.end());
  EXPECT_EQ(gradients->measured, 20.0);
  EXPECT_EQ(gradients->predicted, e.estimate.stages[2].at_peak.gradients.value());
}

TEST(calibration_model, lists_residuals_first_and_says_where_curves_come_from) {
  CalibrationModel model;
  const Tester tester(&model, kFatal);
  model.setCalibration(largeExample(4).calibration);
  ASSERT_GT(model.rowCount(), 10);
  EXPECT_EQ(model.index(0, 0).data().toString(), "residuals");
  EXPECT_TRUE(model.index(0, 2).data().toString().endsWith(" %"));
  bool origin = false;
  for (int row = 0; row < model.rowCount(); ++row) {
    origin = origin || !model.index(row, 3).data().toString().isEmpty();
    EXPECT_FALSE(model.index(row, 1).data(Qt::ToolTipRole).toString().isEmpty());
  }
  EXPECT_TRUE(origin);
}

TEST(export_table, csv_has_exact_numbers_and_units_in_its_head) {
  PlanTableModel model;
  model.setRanking(ranking());
  const QStringList lines = exportTable(model, TableFormat::Csv).split("\r\n");
  EXPECT_TRUE(lines[0].startsWith("#,layout,step time (s),peak memory (B),")) << lines[0].toStdString();
  EXPECT_TRUE(lines[1].contains(",4,60000000000,3,400,40,")) << lines[1].toStdString();
  EXPECT_EQ(lines.size(), 5) << "head, three plans, the end";
}

TEST(export_table, fields_with_commas_and_quotes_are_quoted) {
  ReportModel model;
  model.setRows({{"a \"b\", c", CellUnit::Plain, 1, 1.0}});
  EXPECT_TRUE(exportTable(model, TableFormat::Csv).contains("\"a \"\"b\"\", c\",1,1,"));
  model.setRows({{"a|b", CellUnit::Bytes, 1024, 2048.0}});
  EXPECT_TRUE(
      exportTable(model, TableFormat::Markdown).contains("| a\\|b | 1 KiB | 2 KiB | −1 KiB | −50.0 % |"));
  EXPECT_TRUE(exportTable(model, TableFormat::Markdown).contains("| --- | ---: |"));
}

TEST(export_table, rows_of_trees_have_their_path) {
  LedgerTreeModel model;
  model.setTree(ledgerOf(largeExample(4), 0));
  EXPECT_TRUE(exportTable(model, TableFormat::Csv).contains("\r\nparameters / layers / mlp.down.weight,"));
}

TEST(table_export, rows_for_a_spreadsheet_are_exact_and_keep_their_order_and_ancestors) {
  LedgerTreeModel model;
  model.setTree(ledgerOf(largeExample(4), 0));
  const QModelIndex tensor = model.find("mlp.down.weight");
  const QModelIndexList rows{model.index(1, 0), tensor};
  const QStringList lines = exportRows(model, rows, TableFormat::Tsv).split('\n', Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), 3);
  EXPECT_TRUE(lines[0].contains("memory (B)"));
  EXPECT_EQ(lines[1].section('\t', 0, 0), model.index(1, 0).data().toString());
  EXPECT_TRUE(lines[2].contains(" / layers / mlp.down.weight\t")) << lines[2].toStdString();
  EXPECT_EQ(lines[2].section('\t', 1, 1),
            tensor.siblingAtColumn(LedgerTreeModel::kBytes).data(kExportRole).toString());
}

TEST(number_text, what_is_made_later_shows_bytes_as_the_window_does) {
  setShownByteUnit(ByteUnit::Decimal);
  EXPECT_EQ(bytesText(Bytes{85e9}), "85 GB");
  EXPECT_EQ(PlanTableModel{}.byteUnit(), ByteUnit::Decimal);
  setShownByteUnit(ByteUnit::Binary);
  EXPECT_EQ(bytesText(Bytes{1.5 * 1073741824}), "1.5 GiB");
}

TEST(comparison_model, tells_which_cells_changed_when_only_numbers_do) {
  const auto state = [](const char* name, double memory, double time) {
    return ComparedState{
        name, {{"m", "memory", "", CellUnit::Bytes, memory}, {"t", "step", "", CellUnit::Seconds, time}}};
  };
  ComparisonModel model;
  const Tester tester(&model, kFatal);
  model.setStates({state("Baseline", 10, 1), state("Now", 20, 2)});
  int resets = 0;
  std::vector<std::array<int, 3>> changed;
  QObject::connect(&model, &QAbstractItemModel::modelReset, [&] { ++resets; });
  QObject::connect(&model, &QAbstractItemModel::dataChanged, [&](const QModelIndex& a, const QModelIndex& b) {
    changed.push_back({a.row(), a.column(), b.column()});
  });
  model.setStates({state("Baseline", 10, 1), state("Now", 20, 3)});
  EXPECT_EQ(resets, 0);
  EXPECT_THAT(changed, testing::ElementsAre(std::array{1, 3, 5}))
      << "value, difference and change of the step";
  changed.clear();
  model.setStates({state("Baseline", 12, 1), state("Now", 20, 3)});
  EXPECT_THAT(changed, testing::ElementsAre(std::array{0, 2, 5})) << "every difference hangs on the baseline";
  model.setStates({state("Baseline", 12, 1), state("Pin 1", 20, 3), state("Now", 20, 3)});
  EXPECT_EQ(resets, 1);
}

}  // namespace
}  // namespace hexaplan::gui
