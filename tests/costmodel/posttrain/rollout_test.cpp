// Lengths of responses, and the time of generating them.
#include "costmodel/posttrain/rollout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "costmodel/posttrain/response_lengths.h"
#include "question.h"

namespace hexaplan::costmodel {
namespace {

double mean_of(const std::vector<std::int64_t>& lengths) {
  return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})) /
         static_cast<double>(lengths.size());
}

TEST(response_lengths, have_the_mean_and_the_longest_that_were_said) {
  for (const double mean : {500.0, 2000.0, 4000.0, 6000.0, 7900.0}) {
    const auto lengths = response_lengths({.mean = mean, .longest = 8000}, 512);
    EXPECT_NEAR(mean_of(lengths), mean, 0.01 * 8000) << mean;
    EXPECT_EQ(std::ranges::max(lengths), 8000) << mean;
    EXPECT_GE(std::ranges::min(lengths), 1) << mean;
  }
}

TEST(response_lengths, are_equal_where_the_mean_is_the_longest) {
  EXPECT_EQ(response_lengths({.mean = 7, .longest = 7}, 3), (std::vector<std::int64_t>{7, 7, 7}));
}

TEST(response_lengths, come_in_an_order_that_mixes_short_and_long) {
  const auto lengths = response_lengths({.mean = 1000, .longest = 4000}, 512);
  const std::vector<std::int64_t> first(lengths.begin(), lengths.begin() + 128);
  EXPECT_NEAR(mean_of(first), 1000, 60);
}

Generation generation_of(const PostTraining& q) {
  return generate(q, q.cluster, Bytes{40e9}, Calibration{});
}

TEST(generation, of_responses_of_one_length_takes_as_many_steps_as_they_have_tokens) {
  PostTraining q = example_question();
  q.batch.response = {.mean = 1000, .longest = 1000};
  const Generation g = generation_of(q);
  EXPECT_EQ(g.engines, 16);
  EXPECT_EQ(g.responses, 32);
  EXPECT_EQ(g.together, 32);
  EXPECT_EQ(g.decode_steps, 1000);
  EXPECT_DOUBLE_EQ(g.mean_batch, 32);
}

TEST(generation, runs_what_finds_no_room_afterwards) {
  PostTraining q = example_question();
  q.batch.response = {.mean = 1000, .longest = 1000};
  q.engine.max_sequences = 16;
  const Generation g = generation_of(q);
  EXPECT_EQ(g.together, 16);
  EXPECT_EQ(g.decode_steps, 2000);
}

TEST(generation, ends_with_the_longest_response) {
  PostTraining q = example_question();
  const Generation g = generation_of(q);
  EXPECT_EQ(g.decode_steps, 4096);
  EXPECT_LT(g.mean_batch, 12);  // 32 at first, mean length a quarter of the longest
  EXPECT_GT(g.mean_batch, 6);
}

TEST(generation, a_decode_step_reads_weights_and_cache) {
  const PostTraining q = example_question();
  const EngineMemory memory = engine_memory(q, q.cluster);
  const Calibration calibration;
  const double rate = calibration.memory.share * 3.35e12;
  const Seconds step = decode_step_time(q, q.cluster, calibration, 1, 100);
  // The embedding's table is looked up, not read.
  const double table = 128256.0 * 4096 * 2;
  EXPECT_GT(step.value(), (memory.weights.value() - table) / rate);
  EXPECT_LT(step.value(), 1.5 * memory.weights.value() / rate);
  const Seconds longer = decode_step_time(q, q.cluster, calibration, 64, 50100);
  const Seconds shorter = decode_step_time(q, q.cluster, calibration, 64, 100);
  EXPECT_NEAR((longer - shorter).value(), 64.0 * 50000 * 32 * 8 * 256 * 2 / rate, 1e-6);
}

/// Half the bytes, and nobody casts weights that do not change.
TEST(generation, with_weights_in_8_bits_is_faster) {
  PostTraining q = example_question();
  const Calibration calibration;
  const Seconds wide = decode_step_time(q, q.cluster, calibration, 8, 1000);
  q.engine.weights = DType::Fp8;
  const Seconds narrow = decode_step_time(q, q.cluster, calibration, 8, 1000);
  EXPECT_LT(narrow.value(), 0.8 * wide.value());
  EXPECT_GT(narrow.value(), 0.4 * wide.value());
}

/// vLLM's Marlin kernels: half the bytes of the weights, products in 16 bits.
TEST(generation, with_weights_in_8_bits_is_faster_on_gpus_that_widen_them_where_weights_are_what_is_read) {
  PostTraining q = example_question();
  for (const Precision narrow : {Precision::Fp8, Precision::Fp8Block, Precision::Mxfp8, Precision::Nvfp4})
    q.cluster.gpu.peak[static_cast<std::size_t>(narrow)] = {};
  const Calibration calibration;
  const auto step = [&](DType weights, std::int64_t batch) {
    q.engine.weights = weights;
    return decode_step_time(q, q.cluster, calibration, batch, 100).value();
  };
  for (const std::int64_t batch : {1, 8, 16}) {
    EXPECT_LT(step(DType::Fp8, batch), 0.8 * step(DType::Bf16, batch)) << batch;
    EXPECT_GT(step(DType::Fp8, batch), 0.4 * step(DType::Bf16, batch)) << batch;
  }
  EXPECT_NEAR(step(DType::Fp8, 4096) / step(DType::Bf16, 4096), 1, 0.02) << "products in 16 bits";
}

TEST(generation, of_experts_reads_those_that_a_token_chose) {
  PostTraining q = example_question();
  q.models[0]->model = example_of_experts().model;
  const Calibration calibration;
  const Seconds one = decode_step_time(q, q.cluster, calibration, 1, 100);
  const Seconds many = decode_step_time(q, q.cluster, calibration, 64, 100);
  EXPECT_GT(many.value(), 2 * one.value());
}

TEST(generation, shares_the_cache_of_a_prompt_that_is_asked_several_times) {
  PostTraining q = example_question();
  const Seconds shared = generation_of(q).prefill;
  q.engine.prefix_caching = false;
  EXPECT_NEAR(generation_of(q).prefill / shared, 8, 1);
}

TEST(engine_memory, halves_matrices_in_8_bits_and_over_two_ranks) {
  PostTraining q = example_question();
  const double whole = engine_memory(q, q.cluster).weights.value();
  const double matrices = 32.0 * (4096.0 * (4096 + 2 * 1024 + 4096) + 3.0 * 4096 * 14336);
  const double ends = 2.0 * 128256 * 4096;
  EXPECT_NEAR(whole, 2 * (matrices + ends), 1e6);
  q.engine.weights = DType::Fp8;
  EXPECT_NEAR(engine_memory(q, q.cluster).weights.value(), matrices + 2 * ends, 1e6);
  q.engine.weights = DType::Bf16;
  q.engine.tp = 2;
  EXPECT_NEAR(engine_memory(q, q.cluster).weights.value(), matrices + ends, 1e6);
}

}  // namespace
}  // namespace hexaplan::costmodel
