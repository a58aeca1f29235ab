// Predicted against measured: what is compared, and how errors are summed up.
#include "validator/measure/compare/validation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "costmodel/spec/rules.h"
#include "costmodel/step/stage_times.h"
#include "presets/calibration/find_calibration.h"
#include "presets/json/input_error.h"
#include "presets/validation/validation_list.h"
#include "tests/validator/step/tiny_scenario.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/step/run_steps.h"
#include "validator/measure/compare/terms.h"

namespace hexaplan::validator {
namespace {

using costmodel::Layout;
using costmodel::Scenario;

ValidationQuestion question_of(const Layout& layout, bool calibrated) {
  ValidationQuestion question{.name = "tiny", .title = "tiny", .scenario = tests::tiny_scenario(layout)};
  if (calibrated) question.calibration = costmodel::Calibration{};
  return question;
}

const ComparedTerm* find(const ComparedRank& rank, TermGroup group, std::string_view name) {
  const auto found = std::find_if(rank.terms.begin(), rank.terms.end(),
                                  [&](const auto& t) { return t.group == group && t.name == name; });
  return found == rank.terms.end() ? nullptr : &*found;
}

TEST(compare_runs, memory_of_the_executor_is_what_its_profile_predicts) {
  for (const Layout& layout : {Layout{}, Layout{.tp = 2, .sp = true}, Layout{.dp = 2, .pp = 2}}) {
    const ValidationQuestion question = question_of(layout, false);
    const ValidatedScenario v = compare_runs(question, {tests::run_tiny(question.scenario, 1).report});
    ASSERT_TRUE(v.memory);
    EXPECT_EQ(v.memory->error(), 0) << layout.world_size();
    EXPECT_TRUE(v.memory->inside());
    EXPECT_FALSE(v.step) << "nobody knows what hardware this is";
    for (const ComparedTerm& term : v.ranks.front().terms) {
      EXPECT_EQ(term.group, TermGroup::Memory);
      EXPECT_EQ(term.predicted, term.measured) << term.name;
    }
  }
}

TEST(compare_runs, tells_time_by_phase_and_kind_where_the_hardware_is_known) {
  const ValidationQuestion question = question_of({}, true);
  const ExecutionReport run = tests::run_tiny(question.scenario, 3).report;
  const ValidatedScenario v = compare_runs(question, {run});
  ASSERT_TRUE(v.step);
  EXPECT_EQ(v.step->measured, median_step_time(run.steps).value());
  EXPECT_EQ(v.step->predicted,
            costmodel::estimate_step(question.scenario, *question.calibration).time.total().value());
  EXPECT_LT(v.step->interval.low, v.step->predicted);
  EXPECT_EQ(v.steps, 3);
  EXPECT_GT(v.mfu, 0);
  double phases = 0, longest = 0;
  for (const char* name : {"forward", "backward", "clipping and optimizer"}) {
    const ComparedTerm* term = find(v.ranks.front(), TermGroup::Phase, name);
    ASSERT_NE(term, nullptr) << name;
    EXPECT_GT(term->predicted, 0) << name;
    EXPECT_GT(term->measured, 0) << name;
    phases += term->measured;
  }
  for (const StepReport& step : run.steps) longest = std::max(longest, step.time.value());
  EXPECT_LE(phases, longest) << "phases are of one step, not of three";
  for (const char* name : {"matrix products", "attention", "memory-bound kernels", "optimizer"})
    EXPECT_NE(find(v.ranks.front(), TermGroup::Kind, name), nullptr) << name;
}

TEST(compare_runs, one_rank_alone_says_how_long_all_take_with_messages_as_modelled) {
  ValidationQuestion question = question_of({.tp = 2, .sp = true}, true);
  question.solo = true;
  const ValidatedScenario v = compare_runs(question, {tests::run_tiny(question.scenario, 2).report});
  const costmodel::Estimate estimate = costmodel::estimate_step(question.scenario, *question.calibration);
  const costmodel::Seconds predicted =
      costmodel::stage_times(question.scenario, *question.calibration, 0).compute() + estimate.time.host;
  const double ratio = v.measured_compute / predicted;
  EXPECT_NEAR(v.step->measured, costmodel::with_compute_scaled(estimate.time, ratio).total().value(), 1e-12);
  EXPECT_NEAR((v.measured_compute + v.modelled_messages).value(), v.step->measured, 1e-12);
  for (const ComparedTerm& term : v.ranks.front().terms)
    EXPECT_NE(term.group, TermGroup::Communication) << "nothing was sent";
}

TEST(compare_runs, a_rank_that_is_alone_in_its_layout_measures_the_whole_step) {
  ValidationQuestion question = question_of({}, true);
  question.scenario.framework.step_overhead = costmodel::Seconds{10e-3};
  question.solo = true;
  const ValidatedScenario v = compare_runs(question, {tests::run_tiny(question.scenario, 2).report});
  EXPECT_GT(costmodel::estimate_step(question.scenario, *question.calibration).time.host.value(), 5e-3);
  EXPECT_NEAR(v.modelled_messages.value(), 0, 1e-9) << "what the host takes was measured with the rest";
}

TEST(compare_runs, shows_a_second_rank_only_where_it_has_more_memory) {
  const ValidationQuestion equal = question_of({.dp = 2}, false);
  EXPECT_EQ(compare_runs(equal, {tests::run_tiny(equal.scenario, 1).report}).ranks.size(), 1U);
  const ValidationQuestion stages = question_of({.pp = 2}, false);
  const auto report = tests::run_tiny(stages.scenario, 1).report;
  const auto& ranks = report.ranks;
  ASSERT_NE(ranks[0].memory.peak_bytes, ranks[1].memory.peak_bytes);
  const ValidatedScenario v = compare_runs(stages, {report});
  const int fullest = ranks[0].memory.peak_bytes > ranks[1].memory.peak_bytes ? 0 : 1;
  EXPECT_EQ(v.ranks.back().rank, fullest);
  EXPECT_EQ(v.ranks.size(), v.ranks.front().rank == fullest ? 1U : 2U);
}

/// Kinds of work and phases are two cuts through the same time.
TEST(compared_terms, predicted_phases_and_kinds_add_up_to_what_the_stage_computes) {
  int recomputing = 0;
  for (const presets::ListedScenario& row : presets::find_validation_list("gpu").scenarios) {
    SCOPED_TRACE(row.name);
    presets::ScenarioRequest request = row.request;
    request.framework = "hexaplan";
    request.cluster = fmt::format("{}xH200", request.layout.layout.world_size());
    const Scenario sc = presets::resolve(request).scenario;
    const costmodel::Calibration calibration = presets::find_calibration(sc.cluster).calibration;
    const ValidationQuestion question{
        .name = row.name, .title = row.name, .scenario = sc, .calibration = calibration, .solo = true};
    for (int stage = 0; stage < sc.layout.pp; ++stage) {
      RankReport rank;
      rank.stage = stage;
      rank.timed_steps = 1;
      std::map<TermGroup, double> sum;
      for (const ComparedTerm& term : compared_terms(question, rank, 1)) sum[term.group] += term.predicted;
      const costmodel::StageTimes times = costmodel::stage_times(sc, calibration, stage);
      const double computed = times.compute().value();
      EXPECT_NEAR(sum[TermGroup::Phase], computed, 1e-9 * computed);
      EXPECT_NEAR(sum[TermGroup::Kind], computed, 1e-9 * computed);
      recomputing += times.recompute.compute() > costmodel::Seconds{} ? 1 : 0;
    }
  }
  EXPECT_GT(recomputing, 2) << "recomputed layers are among them";
}

TEST(compared_terms, messages_are_measured_by_the_device_where_it_timed_them) {
  const ValidationQuestion question = question_of({.dp = 2}, true);
  RankReport rank;
  rank.timed_steps = 1;
  // Three steps' messages, handed over in no time; the device timed those of the last step.
  rank.traffic = {{.operation = "gradient.reduce",
                   .pass = costmodel::Pass::Step,
                   .kind = costmodel::CollectiveKind::AllReduce,
                   .group = costmodel::Group::DataContext,
                   .count = {.messages = 3,
                             .bytes = costmodel::Bytes{3e6},
                             .time = costmodel::Seconds{1e-6},
                             .timed = 1,
                             .timed_bytes = costmodel::Bytes{1e6},
                             .device_time = costmodel::Seconds{2e-3}}}};
  const auto named = [&](std::string_view name) {
    for (const ComparedTerm& term : compared_terms(question, rank, 3))
      if (term.name == name) return term;
    ADD_FAILURE() << "no " << name;
    return ComparedTerm{};
  };
  const ComparedTerm reduction = named("all-reduce, data-context");
  EXPECT_EQ(reduction.measured, 2e-3);
  EXPECT_DOUBLE_EQ(reduction.bus_rate, 1e6 / 2e-3 * 2 * (2 - 1) / 2) << "nccl-tests: 2 (n - 1) / n";
  EXPECT_EQ(named("all-reduce, world").measured, 0) << "not timed: not the host's time either";
  rank.traffic.front().count.timed = 0;
  EXPECT_DOUBLE_EQ(named("all-reduce, data-context").measured, 1e-6 / 3) << "a host's calls wait";
}

TEST(compared_terms, what_passes_do_not_hide_of_messages_is_a_phase_of_its_own) {
  ValidationQuestion question = question_of({.dp = 2, .pp = 2}, true);
  RankReport rank;
  const auto set = [&](Phase phase, double seconds) {
    rank.phases[static_cast<std::size_t>(phase)] = costmodel::Seconds{seconds};
  };
  set(Phase::Reduction, 3);
  set(Phase::Gather, 2);
  set(Phase::Pipeline, 7);
  const costmodel::StepTime time = costmodel::estimate_step(question.scenario, *question.calibration).time;
  const auto terms = compared_terms(question, rank, 1);
  const auto check = [&](std::string_view name, costmodel::Seconds predicted, double measured) {
    const auto row = std::find_if(terms.begin(), terms.end(), [&](const auto& t) { return t.name == name; });
    ASSERT_NE(row, terms.end()) << name;
    EXPECT_EQ(row->predicted, predicted.value()) << name;
    EXPECT_EQ(row->measured, measured) << name;
  };
  EXPECT_GT(time.data_parallel.value(), 0);
  check("reduction and gathering", time.data_parallel, 5);
  check("waiting for other stages", time.bubble + time.pipeline_p2p, 7);
}

TEST(device_fact, memory_that_others_gave_back_is_no_number) {
  EXPECT_EQ(taken_memory("CUDA context", 5, true).value, 5);
  EXPECT_TRUE(taken_memory("CUDA context", 5, true).fixed);
  const DeviceFact unknown = taken_memory("CUDA context", -615, true);
  EXPECT_EQ(unknown.unit, "") << "a text";
  EXPECT_FALSE(unknown.fixed);
  EXPECT_NE(unknown.text.find("not known"), std::string::npos);
}

/// The executor runs a recomputed forward right before the backward that needs it, on the same clock.
TEST(compared_terms, recomputation_is_predicted_where_it_is_measured_in_backward) {
  Scenario sc = tests::tiny_scenario({});
  sc.recipe.recompute.mode = costmodel::RecomputeMode::Full;
  const ValidationQuestion question{
      .name = "tiny", .title = "tiny", .scenario = sc, .calibration = costmodel::Calibration{}};
  const ValidatedScenario v = compare_runs(question, {tests::run_tiny(sc, 1).report});
  const costmodel::StageTimes times = costmodel::stage_times(sc, *question.calibration, 0);
  ASSERT_GT(times.recompute.compute().value(), 0);
  const ComparedTerm* backward = find(v.ranks.front(), TermGroup::Phase, "backward");
  ASSERT_NE(backward, nullptr);
  EXPECT_NEAR(backward->predicted, (times.recompute.total() + times.backward.total()).value(), 1e-12);
  EXPECT_EQ(find(v.ranks.front(), TermGroup::Phase, "recompute"), nullptr);
}

ValidatedScenario result(ScenarioUse use, double predicted, double measured, bool inside) {
  ValidatedScenario v{.name = "x", .title = "x", .use = use, .outcome = Outcome::Measured};
  v.step = ComparedTotal{predicted, measured, inside ? costmodel::Interval{0, 1e9} : costmodel::Interval{}};
  return v;
}

TEST(summarise, takes_mean_worst_bias_and_coverage_of_the_scenarios_asked_for) {
  std::vector<ValidatedScenario> all = {result(ScenarioUse::Fitted, 1.5, 1, false),
                                        result(ScenarioUse::HeldOut, 1.1, 1, true),
                                        result(ScenarioUse::HeldOut, 0.7, 1, false)};
  ValidatedScenario none{
      .name = "big", .title = "big", .use = ScenarioUse::HeldOut, .outcome = Outcome::OutOfMemory};
  none.predicted_to_fit = false;
  all.push_back(none);
  const ValidationSummary held_out = summarise(all, ScenarioUse::HeldOut);
  EXPECT_EQ(held_out.step.scenarios, 2U);
  EXPECT_NEAR(held_out.step.mean, 0.2, 1e-12);
  EXPECT_NEAR(held_out.step.worst, 0.3, 1e-12);
  EXPECT_NEAR(held_out.step.bias, -0.1, 1e-12);
  EXPECT_EQ(held_out.step.inside, 0.5);
  EXPECT_EQ(held_out.fits_asked, 3U);
  EXPECT_EQ(held_out.fits_right, 3U) << "out of memory, as predicted";
  EXPECT_EQ(summarise(all, ScenarioUse::Unknown).step.scenarios, 3U);
  EXPECT_EQ(summarise({}, ScenarioUse::Unknown).step.scenarios, 0U);
}

TEST(ranks_worth_running, are_of_the_first_a_middle_and_the_last_stage) {
  EXPECT_EQ(ranks_worth_running(tests::tiny_scenario({.tp = 2, .pp = 4})), (std::vector<int>{0, 4, 6}));
  EXPECT_EQ(ranks_worth_running(tests::tiny_scenario({.dp = 2, .pp = 2})), (std::vector<int>{0, 2}));
  EXPECT_EQ(ranks_worth_running(tests::tiny_scenario({.tp = 8})), (std::vector<int>{0}));
}

ExecutionReport run_on_cpu(const Scenario& sc, std::int64_t warm_up, InitialValues values) {
  RunOptions options{.steps = 2, .warm_up = warm_up, .initial = values};
  options.make_device = [](int) { return make_cpu_device(Element::F64); };
  ThreadRanks ranks;
  return run_steps(sc, options, ranks);
}

TEST(run_steps, warm_up_counts_in_nothing_but_memory_and_noise_starts_any_layout) {
  for (const Layout& layout : {Layout{}, Layout{.dp = 2, .sharding = {.stage = 3}}}) {
    const Scenario sc = tests::tiny_scenario(layout);
    const ExecutionReport cold = run_on_cpu(sc, 0, InitialValues::Model),
                          warm = run_on_cpu(sc, 3, InitialValues::Noise);
    ASSERT_EQ(warm.steps.size(), 5U);
    EXPECT_TRUE(warm.steps[2].warm_up && !warm.steps[3].warm_up);
    EXPECT_NEAR(warm.steps[0].loss, std::log(static_cast<double>(sc.model.vocab)), 0.2);
    const RankReport &a = cold.ranks[0], &b = warm.ranks[0];
    EXPECT_EQ(a.memory.peak_by_kind, b.memory.peak_by_kind);
    EXPECT_EQ(b.timed_steps, 2);
    ASSERT_EQ(a.operations.size(), b.operations.size());
    for (std::size_t i = 0; i < a.operations.size(); ++i) {
      EXPECT_EQ(a.operations[i].flops.value(), b.operations[i].flops.value());
      EXPECT_EQ(a.operations[i].flops.value(), b.operations[i].timed_flops.value()) << "every call is timed";
    }
    EXPECT_EQ(b.layers.size(), static_cast<std::size_t>(sc.model.layers));
    for (const ComputeKind kind :
         {ComputeKind::Gemm, ComputeKind::Attention, ComputeKind::Norm, ComputeKind::Rope,
          ComputeKind::Activation, ComputeKind::Loss, ComputeKind::Optimizer})
      EXPECT_GT(b.compute[static_cast<std::size_t>(kind)].calls, 0) << name_of(kind);
  }
}

/// Lists that come with Hexaplan: everything in them can be run.
class Lists : public testing::TestWithParam<const char*> {};

TEST_P(Lists, have_scenarios_that_rules_and_executor_accept) {
  const presets::ValidationList list = presets::find_validation_list(GetParam());
  std::size_t held_out = 0;
  for (const presets::ListedScenario& row : list.scenarios) {
    presets::ScenarioRequest request = row.request;
    request.framework = "hexaplan";
    request.cluster = fmt::format("{}xH100", request.layout.layout.world_size());
    const Scenario sc = presets::resolve(request).scenario;
    const auto broken = costmodel::first_rejection(sc);
    EXPECT_FALSE(broken) << row.name << ": " << broken->reason;
    const auto missing = first_not_executable(sc);
    EXPECT_FALSE(missing) << row.name << ": " << missing->reason;
    held_out += row.held_out ? 1 : 0;
  }
  EXPECT_GT(held_out, 0U);
  EXPECT_LT(held_out, list.scenarios.size()) << "something to fit on";
}
INSTANTIATE_TEST_SUITE_P(validation, Lists, testing::Values("gpu", "cpu"),
                         [](const auto& param) { return std::string{param.param}; });

TEST(validation_list, of_a_gpu_covers_what_one_gpu_can_say) {
  const auto rows = presets::find_validation_list("gpu").scenarios;
  EXPECT_GE(rows.size(), 20U);
  std::int64_t largest = 0;
  int most[4] = {};
  for (const presets::ListedScenario& r : rows) {
    const Layout& l = r.request.layout.layout;
    largest = std::max(largest, l.world_size());
    for (int i = 0; const int degree : {l.tp, l.pp, l.cp, l.ep}) most[i] = std::max(most[i], degree), ++i;
    EXPECT_EQ(r.solo, l.world_size() > 1) << r.name << ": on one GPU others can only be imitated";
  }
  EXPECT_GE(largest, 1024);
  for (const int degree : most) EXPECT_GT(degree, 1);
}

TEST(validation_list, names_the_nearest) {
  try {
    (void)presets::find_validation_list("gpus");
    FAIL();
  } catch (const presets::InputError& error) {
    EXPECT_NE(std::string{error.what()}.find("did you mean \"gpu\""), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hexaplan::validator
