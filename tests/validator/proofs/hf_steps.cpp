#include "tests/validator/proofs/hf_steps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"

namespace hexaplan::tests {

void repeat_steps(const HfSteps& golden, const costmodel::Scenario& sc,
                  const std::function<void(const validator::RankView&)>& load, Repeated& out) {
  validator::RunOptions options;
  options.steps = static_cast<std::int64_t>(number_in(golden["steps"]));
  options.seed = golden.seed();
  options.optimizer = {.beta1 = golden.optimizer("beta1"),
                       .beta2 = golden.optimizer("beta2"),
                       .epsilon = golden.optimizer("epsilon"),
                       .weight_decay = golden.optimizer("weight_decay"),
                       .clip_norm = golden.optimizer("clip")};
  options.learning_rate = {.peak = golden.optimizer("learning_rate")};
  options.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  options.loaded = [&](const validator::RankView& rank) {
    load(rank);
    out.before.add(rank, validator::State::Master);
  };
  options.stepped = [&](const validator::RankView& rank) {
    if (rank.step == 1) out.first_moment.add(rank, validator::State::FirstMoment);
    if (rank.step == options.steps) out.master.add(rank, validator::State::Master);
  };
  validator::ThreadRanks ranks;
  out.report = validator::run_steps(sc, options, ranks);
}

void expect_fingerprint(const presets::JsonValue& tensor, std::uint64_t seed, const std::string& name,
                        const char* what, const std::vector<double>& values, double smallest) {
  const std::vector<double> expected = numbers_in(*tensor.find(what));
  const Fingerprint got = fingerprint(seed, name, values);
  const double scale = std::max(expected[0], smallest);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], kOfTensors * scale) << what << " of " << name << ", figure " << i;
}

}  // namespace hexaplan::tests
