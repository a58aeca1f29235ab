#include "planner/problem/plan.h"

#include "costmodel/step/memory_risk.h"
#include "costmodel/step/model_flops.h"

namespace hexaplan::planner {

using costmodel::Bytes;
using costmodel::Calibration;
using costmodel::Layout;
using costmodel::Recipe;
using costmodel::Scenario;
using costmodel::Seconds;

Price price_of(const Scenario& sc, const Calibration& calibration, Seconds step, Bytes peak) {
  const auto gpus = static_cast<double>(sc.cluster.gpus);
  const double gpu_seconds = step.value() * gpus;
  return {.step = step,
          .peak = peak,
          .capacity = sc.cluster.gpu.memory,
          .gpus = sc.cluster.gpus,
          .dollars_per_step = gpu_seconds / 3600 * sc.cluster.gpu.price_per_hour,
          .tokens_per_second_per_gpu = static_cast<double>(tokens_per_step(sc.recipe)) / gpu_seconds,
          .mfu = model_flops_per_step(sc, costmodel::AttentionFlops::CausalHalved).value() / gpu_seconds /
                 sc.cluster.gpu.peak_of(sc.recipe.precision).value(),
          .risk = out_of_memory_probability(peak, sc.cluster.gpu.memory,
                                            memory_sigma(sc.framework, calibration))};
}

Bytes most_memory(const SearchProblem& problem, std::size_t hardware) {
  const Constraints& limits = problem.constraints;
  const HardwareOption& option = problem.hardware[hardware];
  const Bytes memory = option.cluster.gpu.memory;
  const double sigma = memory_sigma(problem.base.framework, option.calibration);
  return smaller(memory * limits.memory_share, most_memory_at_risk(memory, limits.max_risk, sigma));
}

Scenario base_on(const SearchProblem& problem, std::size_t hardware) {
  Scenario sc = problem.base;
  const HardwareOption& option = problem.hardware[hardware];
  sc.cluster = option.cluster;
  if (option.global_batch > 0) sc.recipe.global_batch = option.global_batch;
  return sc;
}

Scenario scenario_of(const SearchProblem& problem, std::size_t hardware, const Layout& layout,
                     const Recipe& recipe) {
  Scenario sc = problem.base;
  sc.cluster = problem.hardware[hardware].cluster;
  sc.layout = layout;
  sc.recipe = recipe;
  return sc;
}

Scenario scenario_of(const SearchProblem& problem, const Plan& plan) {
  return scenario_of(problem, plan.hardware, plan.layout, plan.recipe);
}

}  // namespace hexaplan::planner
