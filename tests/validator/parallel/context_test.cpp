// Context parallelism against attention of whole sequences on one rank, and its messages against the
// operation list.
#include "validator/executor/parallel/context.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "costmodel/compute/operations.h"
#include "costmodel/program/compile.h"
#include "tests/validator/device/random_numbers.h"
#include "tests/validator/parallel/ranks.h"
#include "validator/executor/interpreter/interpreter.h"
#include "validator/executor/parallel/attention_blocks.h"

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using costmodel::ContextKind;
using costmodel::Pass;
using costmodel::Scenario;

constexpr std::int64_t kSequence = 24, kBatch = 2;

Scenario scenario_of(int cp, ContextKind kind) {
  Scenario sc;
  sc.model.layers = 1;
  sc.model.hidden = 8;
  sc.model.attention = {.heads = 4, .kv_heads = 2, .head_dim = 2, .v_head_dim = 2};
  sc.recipe.sequence = kSequence;
  sc.recipe.micro_batch = sc.recipe.global_batch = kBatch;
  sc.layout.cp = cp;
  sc.layout.context = kind;
  return sc;
}

/// Rows of the whole sequences, by what they are.
struct Rows {
  std::int64_t width;
  std::vector<double> values;
  explicit Rows(std::int64_t cols, unsigned seed = 0)
      : width{cols}, values(static_cast<std::size_t>(kBatch * kSequence * cols)) {
    if (seed > 0) values = random_numbers(values.size(), seed);
  }
};

/// Calls visit(row of the rank, row of the whole sequences).
template <class Visitor>
void for_each_row(const Rank& rank, const Visitor& visit) {
  const std::vector<std::int32_t> positions = local_positions(rank);
  std::int64_t local = 0;
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (const std::int32_t position : positions) visit(local++, b * kSequence + position);
  }
}

Tensor own_rows(Rank& rank, const Rows& rows) {
  std::vector<double> own;
  for_each_row(rank, [&](std::int64_t /*local*/, std::int64_t whole) {
    const auto begin = rows.values.begin() + whole * rows.width;
    own.insert(own.end(), begin, begin + rows.width);
  });
  Tensor t = rank.transient("test", rank.dims.tokens, rows.width);
  rank.device.upload(t, own);
  return t;
}

/// Core attention alone, compiled for the rank's context group: from the joint projection to its output.
Runnable attention_program(const Scenario& sc) {
  constexpr program::Shape kJoint{program::Rows::Tokens, program::Width::QueryKeyValue};
  program::Program p;
  p.input = p.add({.tensor = program::Tensor::QueryKeyValue, .shape = kJoint});
  p.output = p.add({.tensor = program::Tensor::AttentionOutput,
                    .shape = {program::Rows::Tokens, program::Width::Attended}});
  const program::ValueId statistics =
      p.add({.tensor = program::Tensor::LogSumExp,
             .shape = {program::Rows::Tokens, program::Width::Heads, program::Type::Fp32}});
  p.ops.push_back({.site = program::Site::Core,
                   .kind = program::Kind::Attend,
                   .reads = {p.input},
                   .writes = {p.output, statistics}});
  program::Techniques techniques;
  techniques.context_ranks = sc.layout.cp;
  techniques.context = sc.layout.context;
  return Runnable{compile(std::move(p), techniques)};
}

struct Attention {
  Rows output{8}, d_joint{16};
  double forward_flops = 0, backward_flops = 0;  // of all ranks
  Traffic traffic;                               // of one rank
};

Attention attend_on_ranks(const Scenario& sc) {
  const Rows joint{16, 1}, d_o{8, 4};
  Attention result;
  std::mutex mutex;
  on_every_rank(sc, [&](Rank& rank) {
    rank.layer = 0;
    const Runnable attention = attention_program(sc);
    const program::Sizes sizes = program::sizes_of(sc, rank.dims);
    Frame frame{rank, attention, sizes};
    frame.give_input(rank, own_rows(rank, joint));
    run_phase(rank, frame, program::Phase::Forward, {}, {});
    frame.give_output_gradient(own_rows(rank, d_o));
    run_phase(rank, frame, program::Phase::Backward, {}, {});
    const Tensor d_joint = frame.take_input_gradient();
    const std::scoped_lock lock{mutex};
    const auto collect = [&](const View& from, Rows& to) {
      std::vector<double> own(static_cast<std::size_t>(from.elements()));
      rank.device.download(own, from);
      for_each_row(rank, [&](std::int64_t local, std::int64_t whole) {
        std::copy_n(own.begin() + local * to.width, to.width, to.values.begin() + whole * to.width);
      });
    };
    collect(frame.view(attention.program.output), result.output);
    collect(d_joint, result.d_joint);
    for (const auto& [issue, flops] : rank.device.issued_flops())
      (issue.pass == Pass::Forward ? result.forward_flops : result.backward_flops) += flops;
    result.traffic = rank.groups.world->traffic();
  });
  return result;
}

void expect_equal(const Rows& a, const Rows& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) EXPECT_NEAR(a.values[i], b.values[i], 1e-13);
}

struct Case {
  int cp;
  ContextKind kind;
};
class context_parallelism : public testing::TestWithParam<Case> {};

TEST_P(context_parallelism, gives_output_and_gradients_of_whole_sequences) {
  const Attention one = attend_on_ranks(scenario_of(1, ContextKind::Ring));
  const Attention many = attend_on_ranks(scenario_of(GetParam().cp, GetParam().kind));
  expect_equal(many.output, one.output);
  expect_equal(many.d_joint, one.d_joint);
}

TEST_P(context_parallelism, issues_the_flops_and_sends_the_messages_of_the_operation_list) {
  const Scenario sc = scenario_of(GetParam().cp, GetParam().kind);
  const Attention run = attend_on_ranks(sc);
  std::vector<costmodel::Operation> list;
  costmodel::append_layer_operations(sc, costmodel::local_dims(sc), {}, list);
  double forward = 0, backward = 0;
  Traffic expected;
  for (const costmodel::Operation& op : list) {
    if (op.kind == costmodel::OpKind::Attention)
      (op.pass == Pass::Forward ? forward : backward) += op.flops.value();
    if (op.kind != costmodel::OpKind::Collective) continue;
    expected.add(
        {.operation = op.name, .pass = op.pass}, op.collective, op.group,
        {.messages = static_cast<std::int64_t>(op.count), .bytes = op.payload * op.count, .time = {}});
  }
  EXPECT_DOUBLE_EQ(run.forward_flops, forward * sc.layout.cp);
  EXPECT_DOUBLE_EQ(run.backward_flops, backward * sc.layout.cp);
  ASSERT_FALSE(expected.rows().empty());
  for (const TrafficRow& row : expected.rows()) {
    for (const TrafficRow& got : run.traffic.rows()) {
      if (got.operation != row.operation || got.pass != row.pass || got.kind != row.kind) continue;
      EXPECT_EQ(got.count.messages, row.count.messages) << row.operation;
      EXPECT_EQ(got.count.bytes, row.count.bytes) << row.operation;
    }
  }
  EXPECT_EQ(run.traffic.rows().size(), expected.rows().size());
}

INSTANTIATE_TEST_SUITE_P(layouts, context_parallelism,
                         testing::Values(Case{2, ContextKind::Ring}, Case{3, ContextKind::Ring},
                                         Case{4, ContextKind::Ring}, Case{2, ContextKind::AllGather},
                                         Case{4, ContextKind::AllGather}),
                         [](const testing::TestParamInfo<Case>& test) {
                           return (test.param.kind == ContextKind::Ring ? "ring_of_" : "gather_of_") +
                                  std::to_string(test.param.cp);
                         });

TEST(visible_block, every_rank_has_equally_many_pairs_and_no_pair_twice) {
  for (const int c : {2, 3, 5}) {
    constexpr std::int64_t kLocal = 8;
    for (int rank = 0; rank < c; ++rank) {
      std::int64_t pairs = 0;
      for (int other = 0; other < c; ++other) {
        if (other == rank) continue;
        const VisibleBlock seen = visible_block(rank, other, kLocal);
        pairs += seen.queries.count * seen.keys.count;
      }
      EXPECT_EQ(pairs, (c - 1) * kLocal * kLocal / 2);
    }
  }
}

}  // namespace
}  // namespace hexaplan::validator
