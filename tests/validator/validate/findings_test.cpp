// What a validation's figures say in words.
#include "validator/measure/compare/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hexaplan::validator {
namespace {

using costmodel::Seconds;
using testing::ElementsAre;
using testing::HasSubstr;

/// A step of 100 ms as predicted: 60 of products, 20 of attention, 10 of the optimizer, 10 of messages that
/// passes wait for.
ValidatedScenario as_predicted() {
  ValidatedScenario s;
  s.outcome = Outcome::Measured;
  s.step = ComparedTotal{0.1, 0.1, {}};
  s.measured_step = Seconds{0.1};
  s.ranks = {{0,
              0,
              {{TermGroup::Phase, "forward", 0.03, 0.03},
               {TermGroup::Phase, "backward", 0.06, 0.06},
               {TermGroup::Phase, "clipping and optimizer", 0.01, 0.01},
               {TermGroup::Kind, "matrix products", 0.06, 0.06},
               {TermGroup::Kind, "attention", 0.02, 0.02},
               {TermGroup::Kind, "optimizer", 0.01, 0.01}}}};
  return s;
}
void lengthen(ValidatedScenario& s, TermGroup group, std::string_view name, double seconds) {
  for (ComparedTerm& term : s.ranks.front().terms) {
    if (term.group == group && term.name == name) term.measured += seconds;
  }
}
void lengthen_step(ValidatedScenario& s, double seconds) {
  s.step->measured += seconds;
  s.measured_step += Seconds{seconds};
  lengthen(s, TermGroup::Phase, "backward", seconds);
}

TEST(findings, a_step_as_predicted_has_no_cause) {
  EXPECT_THAT(findings(as_predicted()), ElementsAre());
}

TEST(findings, the_kind_of_kernel_that_takes_longer_is_the_cause) {
  ValidatedScenario s = as_predicted();
  lengthen_step(s, 0.008);
  lengthen(s, TermGroup::Kind, "attention", 0.008);
  EXPECT_THAT(findings(s),
              ElementsAre("the step is 8 ms (8.0 %) longer than predicted: attention 8 ms (40.0 %)"));
}

TEST(findings, what_passes_take_beyond_their_kernels_are_messages_and_the_largest_comes_first) {
  ValidatedScenario s = as_predicted();
  lengthen_step(s, 0.02);
  lengthen(s, TermGroup::Kind, "matrix products", 0.005);
  EXPECT_THAT(findings(s),
              ElementsAre("the step is 20 ms (20.0 %) longer than predicted: messages within passes "
                          "15 ms (150.0 %), matrix products 5 ms (8.3 %)"));
}

TEST(findings, what_takes_longer_explains_no_shorter_step) {
  ValidatedScenario s = as_predicted();
  lengthen_step(s, -0.01);
  lengthen(s, TermGroup::Kind, "matrix products", -0.015);
  lengthen(s, TermGroup::Kind, "attention", 0.005);
  EXPECT_THAT(
      findings(s),
      ElementsAre("the step is 10 ms (10.0 %) shorter than predicted: matrix products 15 ms (25.0 %)"));
}

TEST(findings, a_difference_that_nothing_explains_says_so) {
  ValidatedScenario s = as_predicted();
  s.step->measured += 0.01;
  EXPECT_THAT(findings(s),
              ElementsAre("the step is 10 ms (10.0 %) longer than predicted, which no single kind of "
                          "kernel or message explains"));
}

TEST(findings, whether_the_host_keeps_the_device_waiting_is_said_either_way) {
  ValidatedScenario s = as_predicted();
  s.ranks.front().terms.push_back({TermGroup::Kind, "waiting for launches", 0.001, 0.002});
  EXPECT_THAT(findings(s), ElementsAre(HasSubstr("not host-bound: the device waits 2.0 %")));
  s.ranks.front().terms.back().measured = 0.012;
  EXPECT_THAT(findings(s), ElementsAre(HasSubstr("host-bound: the device waits 12.0 %")));
}

TEST(findings, messages_far_over_their_curve_are_named_with_their_bus_rate) {
  ValidatedScenario s = as_predicted();
  ComparedTerm slow{TermGroup::Communication, "all-gather, tensor", 0.01, 0.014};
  slow.bus_rate = 210e9;
  s.ranks.front().terms.push_back(slow);
  EXPECT_THAT(findings(s),
              ElementsAre("all-gather, tensor: 40.0 % over its curve, waiting for other ranks included; "
                          "210 GB/s on the bus"));
}

TEST(findings, a_slow_rank_is_held_against_those_of_its_stage) {
  ValidatedScenario s = as_predicted();
  for (int rank = 0; rank < 6; ++rank) {
    const bool last_stage = rank >= 3;
    s.all_ranks.push_back({.rank = rank,
                           .stage = last_stage ? 1 : 0,
                           .host = "node7",
                           .device = {},
                           .computing = Seconds{last_stage ? 0.09 : 0.05}});
  }
  EXPECT_THAT(findings(s), ElementsAre()) << "stages compute unlike things";
  s.all_ranks[4].computing = Seconds{0.099};
  EXPECT_THAT(findings(s),
              ElementsAre(HasSubstr("rank 4 on node7 holds the others up: it computes 10.0 % longer")));
}

TEST(findings, clocks_that_are_held_back_and_memory_that_nobody_predicted_are_told) {
  ValidatedScenario s = as_predicted();
  s.facts = {{"SM clock", 1590, "MHz", {}}, {"clocks held back by", 0, {}, "power"}};
  s.ranks.front().terms.push_back(
      {TermGroup::Memory, "device: pool, context, communicators", 10.0 * (1 << 30), 12.0 * (1 << 30)});
  EXPECT_THAT(findings(s),
              ElementsAre("clocks are held back by power: 1590 MHz",
                          HasSubstr("pool, context, communicators hold 2 GiB more than predicted")));
}

}  // namespace
}  // namespace hexaplan::validator
