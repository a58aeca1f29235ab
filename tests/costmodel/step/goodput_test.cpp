// What failures and checkpoints leave of a long run.
#include "costmodel/step/goodput.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "costmodel/step/training_cost.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

constexpr Seconds kMinute{60}, kHour{3600};
const Seconds kNever{std::numeric_limits<double>::infinity()};

/// J. T. Daly, Future Generation Computer Systems 22 (2006), figures 3 to 5: optima for dumps of 5 minutes,
/// by a series that is short of the optimum by 0.3 % in the last case.
TEST(goodput, best_intervals_are_those_that_daly_published) {
  const auto minutes = [](Seconds mtbf) {
    return best_interval({.mtbf = mtbf, .stall = 5 * kMinute, .unusable = {}, .restart = 10 * kMinute}) /
           kMinute;
  };
  EXPECT_NEAR(minutes(24 * kHour), 117, 0.5);
  EXPECT_NEAR(minutes(6 * kHour), 57, 0.5);
  EXPECT_NEAR(minutes(15 * kMinute), 9.1, 0.1);
}

TEST(goodput, young_is_the_first_term_of_the_best_interval) {
  const InterruptedRun run{.mtbf = Seconds{1e7}, .stall = Seconds{1}, .unusable = {}, .restart = kMinute};
  EXPECT_NEAR(best_interval(run) / Seconds{std::sqrt(2 * 1 * 1e7)}, 1, 1e-3);
}

TEST(goodput, no_other_interval_costs_less_than_the_best) {
  for (const double mtbf : {100.0, 1e3, 1e4, 1e6}) {
    for (const double stall : {0.01, 1.0, 30.0, 600.0}) {
      for (const double unusable : {0.0, 20.0}) {
        const InterruptedRun run{Seconds{mtbf}, Seconds{stall}, Seconds{unusable}, Seconds{300}};
        const Seconds best = best_interval(run);
        EXPECT_GE(best, run.unusable);
        EXPECT_LE(slowdown(run, best), slowdown(run, best * 1.1)) << mtbf << " " << stall;
        if (run.unusable < best * 0.9) {
          EXPECT_LE(slowdown(run, best), slowdown(run, best * 0.9)) << mtbf << " " << stall;
        }
      }
    }
  }
}

/// A run played out with random failures; each goes back to the last checkpoint that was wholly written.
class PlayedRun {
 public:
  PlayedRun(const InterruptedRun& run, Seconds interval) : run_{run}, interval_{interval} {}

  /// Wall time for `work` seconds of progress.
  double wall(double work) {
    failure_ = draw();
    while (progress_ < work) {
      if (!pass(interval_.value())) continue;
      const double reached = progress_ + interval_.value();
      if (!pass(run_.stall.value())) continue;
      progress_ = reached;
      written_.push_back({.progress = reached, .usable_at = now_ + run_.unusable.value()});
    }
    return now_;
  }

 private:
  struct Written {
    double progress, usable_at;
  };
  double draw() { return now_ + std::exponential_distribution<double>{1 / run_.mtbf.value()}(random_); }
  /// Lets `time` pass; false when a failure came first, after which the run has gone back.
  bool pass(double time) {
    if (now_ + time <= failure_) {
      now_ += time;
      return true;
    }
    while (true) {
      now_ = failure_;
      while (!written_.empty() && written_.back().usable_at > now_) written_.pop_back();
      progress_ = written_.empty() ? 0 : written_.back().progress;
      failure_ = draw();
      if (failure_ > now_ + run_.restart.value()) break;
    }
    now_ += run_.restart.value();
    return false;
  }

  InterruptedRun run_;
  Seconds interval_;
  std::mt19937_64 random_{7};
  double now_ = 0, progress_ = 0, failure_ = 0;
  std::vector<Written> written_;
};

TEST(goodput, slowdown_is_that_of_a_run_played_out_with_random_failures) {
  struct Case {
    InterruptedRun run;
    Seconds interval;
    double tolerance;
  };
  const Case cases[] = {
      {{3 * kHour, Seconds{30}, {}, 10 * kMinute}, 15 * kMinute, 0.01},
      {{kHour, 5 * kMinute, {}, 10 * kMinute}, 20 * kMinute, 0.01},
      {{20 * kMinute, kMinute, {}, 10 * kMinute}, 5 * kMinute, 0.01},
      // Written in the background: what is redone has failed before it can count, which is of second order.
      {{3 * kHour, Seconds{2}, 3 * kMinute, 10 * kMinute}, 10 * kMinute, 0.01},
      {{kHour, Seconds{2}, 5 * kMinute, 5 * kMinute}, 10 * kMinute, 0.02},
  };
  for (const Case& c : cases) {
    const double work = 30'000 * c.run.mtbf.value();
    const double played = PlayedRun{c.run, c.interval}.wall(work) / work;
    EXPECT_NEAR(slowdown(c.run, c.interval) / played, 1, c.tolerance) << c.run.mtbf.value();
  }
}

TEST(goodput, what_never_fails_pays_for_its_checkpoints_alone) {
  const InterruptedRun run{.mtbf = kNever, .stall = kMinute, .unusable = {}, .restart = kHour};
  EXPECT_EQ(best_interval(run), kNever);
  EXPECT_EQ(slowdown(run, kNever), 1);
  EXPECT_DOUBLE_EQ(slowdown(run, kHour), 1 + 1.0 / 60);
}

/// Tables of Erlang's loss formula: 5 erlangs on 10 servers lose 1.84 %, 10 on 15 lose 3.65 %.
TEST(goodput, waiting_for_repairs_is_erlangs_loss) {
  EXPECT_DOUBLE_EQ(waiting_share(0.25, 0), 0.2);
  EXPECT_DOUBLE_EQ(waiting_share(1, 1), 0.2);
  EXPECT_NEAR(waiting_share(5, 9), 0.0184, 5e-5);
  EXPECT_NEAR(waiting_share(10, 14), 0.0365, 5e-5);
}

Scenario long_run() {
  Scenario sc = example_scenario();
  sc.recipe.tokens = 1'000'000'000'000;
  sc.cluster.gpu.power_watts = 700;
  sc.cluster.gpu.price_per_hour = 2;
  sc.cluster.gpu.pcie = BytesPerSecond{64e9};
  return sc;
}
TrainingCost cost_of(const Scenario& sc) {
  return training_cost(sc, Seconds{10}, {9, 11});
}

TEST(goodput, shares_of_the_time_add_up) {
  for (const bool asynchronous : {false, true}) {
    for (const std::optional<int> spares : {std::optional<int>{}, std::optional<int>{0}}) {
      Scenario sc = long_run();
      sc.cluster.gpus = 4096;
      sc.recipe.checkpoints.asynchronous = asynchronous;
      sc.recipe.reliability.spare_nodes = spares;
      const Goodput g = goodput(sc);
      for (const double share : {g.productive, g.checkpointing, g.repeating, g.restarting}) {
        EXPECT_GT(share, 0);
        EXPECT_LT(share, 1);
      }
      EXPECT_EQ(g.waiting > 0, spares.has_value());
      EXPECT_NEAR(g.productive + g.checkpointing + g.repeating + g.restarting + g.waiting, 1, 1e-12);
    }
  }
}

TEST(goodput, failures_of_gpus_nodes_and_links_add_up) {
  Scenario sc = long_run();
  sc.recipe.reliability.gpu_mtbf = 1600 * kHour;
  sc.recipe.reliability.node_mtbf = 200 * kHour;
  sc.recipe.reliability.link_mtbf = 3200 * kHour;
  EXPECT_NEAR(1 / (goodput(sc).mtbf / kHour), 16 / 1600.0 + 2 / 200.0 + 16 / 3200.0, 1e-12);
  sc.cluster.gpus = 8;
  sc.cluster.levels.pop_back();  // one node has no links
  EXPECT_NEAR(1 / (goodput(sc).mtbf / kHour), 8 / 1600.0 + 1 / 200.0, 1e-12);
}

TEST(goodput, a_checkpoint_holds_trained_parameters_and_states_once) {
  Scenario sc = long_run();
  const double elements = 8.03e9;
  sc.framework.parameter_dtype = DType::Bf16;
  const double whole = checkpoint_bytes(sc).value();
  EXPECT_NEAR(whole / (elements * (2 + 4 + 4 + 4)), 1, 0.01);
  sc.layout = {.dp = 16};
  sc.layout.sharding.stage = 3;
  EXPECT_NEAR(checkpoint_bytes(sc).value(), whole, 1e-9 * whole);
  sc.recipe.offload = kOffloadOptimizer;
  EXPECT_NEAR(checkpoint_bytes(sc).value(), whole, 1e-9 * whole);
  sc.recipe.offload = 0;
  sc.recipe.optimizer = Optimizer::Sgd;
  EXPECT_NEAR(checkpoint_bytes(sc).value() / (elements * (2 + 4 + 4)), 1, 0.01);
  sc.recipe.optimizer = Optimizer::AdamW;
  sc.recipe.fine_tune = FineTune::Lora;
  sc.recipe.lora_rank = 16;
  EXPECT_LT(checkpoint_bytes(sc).value(), 0.02 * whole);
}

TEST(goodput, better_machines_and_faster_storage_finish_earlier) {
  const Scenario sc = long_run();
  const double usual = goodput(sc).productive;
  const auto with = [&](auto change) {
    Scenario other = sc;
    change(other.recipe);
    return goodput(other).productive;
  };
  EXPECT_GT(with([](Recipe& r) { r.reliability.gpu_mtbf = 1e6 * kHour; }), usual);
  EXPECT_GT(with([](Recipe& r) { r.reliability.storage_bandwidth = BytesPerSecond{1e12}; }), usual);
  EXPECT_GT(with([](Recipe& r) { r.reliability.restart_time = kMinute; }), usual);
  EXPECT_GT(with([](Recipe& r) { r.checkpoints.asynchronous = true; }), usual);
  EXPECT_LT(with([](Recipe& r) { r.checkpoints.interval = 10 * kMinute; }), usual);
  EXPECT_LT(with([](Recipe& r) { r.checkpoints.interval = 1000 * kHour; }), usual);
  EXPECT_LT(with([](Recipe& r) { r.reliability.spare_nodes = 0; }), usual);
}

TEST(goodput, enough_spare_nodes_wait_less_than_a_thousandth) {
  Scenario sc = long_run();
  sc.cluster.gpus = 16384;
  const int enough = goodput(sc).enough_spares;
  EXPECT_GT(enough, 0);
  sc.recipe.reliability.spare_nodes = enough;
  EXPECT_LE(goodput(sc).waiting, 1e-3);
  sc.recipe.reliability.spare_nodes = enough - 1;
  EXPECT_GT(goodput(sc).waiting, 1e-3);
  sc.recipe.reliability.repair_time = 10 * 24 * kHour;
  EXPECT_GT(goodput(sc).enough_spares, enough);
}

TEST(training_cost, wall_time_is_productive_time_over_goodput) {
  const TrainingCost cost = cost_of(long_run());
  EXPECT_NEAR(cost.steps, 1e12 / (64 * 8192), 1);
  EXPECT_NEAR(cost.productive.value(), cost.steps * 10, 1e-6);
  EXPECT_NEAR(cost.wall.value() * cost.goodput.productive, cost.productive.value(), 1e-3);
  EXPECT_NEAR(cost.gpu_hours, cost.wall.value() / 3600 * 16, 1e-6);
  EXPECT_NEAR(cost.dollars, 2 * cost.gpu_hours, 1e-6);
  EXPECT_NEAR(cost.kilowatt_hours, 0.7 * cost.gpu_hours, 1e-6);
  EXPECT_NEAR(cost.failures, cost.wall / cost.goodput.mtbf, 1e-9);
}

/// Failures only ever add time: a run of seconds is not done in less than its steps take.
TEST(training_cost, of_a_short_run_is_that_of_its_steps) {
  for (const double tokens : {1e5, 1e6, 1e7, 1e9, 1e11}) {
    Scenario sc = long_run();
    sc.recipe.tokens = static_cast<std::int64_t>(tokens);
    const TrainingCost cost = cost_of(sc);
    EXPECT_GE(cost.wall_seconds.low, 0.85 * cost.productive.value()) << tokens;
    if (cost.failures < 0.01) {
      EXPECT_LE(cost.wall_seconds.high, 1.3 * cost.wall.value()) << tokens;
    }
  }
}

TEST(training_cost, spare_nodes_are_paid_for_and_the_site_takes_its_share_of_energy) {
  Scenario sc = long_run();
  const TrainingCost usual = cost_of(sc);
  sc.recipe.reliability.spare_nodes = 5;
  sc.recipe.reliability.pue = 1.25;
  const TrainingCost cost = cost_of(sc);
  EXPECT_NEAR(cost.gpu_hours / (cost.wall.value() / 3600), 16 + 5 * 8, 1e-9);
  EXPECT_NEAR(cost.kilowatt_hours / cost.wall.value(), 1.25 * usual.kilowatt_hours / usual.wall.value(),
              1e-9);
}

TEST(training_cost, the_interval_holds_the_step_the_rate_of_failures_and_their_number) {
  Scenario sc = long_run();
  sc.cluster.gpus = 4096;
  const TrainingCost unsure = cost_of(sc);
  EXPECT_LT(unsure.wall_seconds.low, unsure.wall.value() * 0.9);
  EXPECT_GT(unsure.wall_seconds.high, unsure.wall.value() * 1.1);
  const Reliability known = reliability_of(sc);
  sc.recipe.reliability.gpu_mtbf = known.gpu_mtbf;
  sc.recipe.reliability.node_mtbf = known.node_mtbf;
  sc.recipe.reliability.link_mtbf = known.link_mtbf;
  const TrainingCost sure = cost_of(sc);
  EXPECT_EQ(sure.wall, unsure.wall);
  EXPECT_LT(sure.wall_seconds.high, unsure.wall_seconds.high);
  EXPECT_GT(sure.wall_seconds.low, unsure.wall_seconds.low);
}

TEST(training_cost, a_job_that_fails_faster_than_it_restarts_never_ends) {
  Scenario sc = long_run();
  sc.recipe.reliability.gpu_mtbf = kMinute;
  const TrainingCost cost = cost_of(sc);
  EXPECT_TRUE(std::isinf(cost.wall.value()));
  EXPECT_TRUE(std::isinf(cost.dollars));
  EXPECT_EQ(cost.goodput.productive, 0);
}

}  // namespace
}  // namespace hexaplan::costmodel
