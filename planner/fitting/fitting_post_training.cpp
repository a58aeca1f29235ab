#include "planner/fitting/fitting_post_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace hexaplan::planner {
namespace {

using costmodel::PostTraining;

/// A word and how it changes the question; null where it would change nothing.
struct Word {
  std::string flag, value;
  std::optional<PostTraining> (*apply)(const PostTraining& question, int number);
  int number = 0;
  [[nodiscard]] std::optional<PostTraining> on(const PostTraining& question) const {
    return apply(question, number);
  }
};

std::optional<PostTraining> offload_all(const PostTraining& question, int /*number*/) {
  if (question.offload_idle == 0xff) return std::nullopt;
  PostTraining changed = question;
  changed.offload_idle = 0xff;
  return changed;
}
std::optional<PostTraining> engine_of(const PostTraining& question, int tp) {
  if (!question.generates() || question.engine.tp >= tp) return std::nullopt;
  PostTraining changed = question;
  changed.engine.tp = tp;
  return changed;
}
std::optional<PostTraining> weights_in_8_bits(const PostTraining& question, int /*number*/) {
  if (!question.generates() || question.engine.weights == costmodel::DType::Fp8) return std::nullopt;
  PostTraining changed = question;
  changed.engine.weights = costmodel::DType::Fp8;
  return changed;
}
std::optional<PostTraining> share(const PostTraining& question, int percent) {
  if (!question.generates() || !question.engine.memory_share ||
      *question.engine.memory_share <= percent / 100.0)
    return std::nullopt;
  PostTraining changed = question;
  changed.engine.memory_share = percent / 100.0;
  return changed;
}
std::optional<PostTraining> asleep(const PostTraining& question, int /*number*/) {
  if (!question.generates() || question.engine.sleep != costmodel::EngineSleep::Awake) return std::nullopt;
  PostTraining changed = question;
  changed.engine.sleep = costmodel::EngineSleep::Discarded;
  return changed;
}
/// Of every model: others inherit the actor's recipe.
template <class Change>
std::optional<PostTraining> with_recipes(const PostTraining& question, const Change& change) {
  PostTraining changed = question;
  bool differs = false;
  for (auto& model : changed.models) differs = (model && change(model->recipe)) || differs;
  return differs ? std::optional{changed} : std::nullopt;
}
std::optional<PostTraining> recomputed(const PostTraining& question, int /*number*/) {
  return with_recipes(question, [](costmodel::Recipe& recipe) {
    const bool differs = recipe.recompute.mode != costmodel::RecomputeMode::Full;
    recipe.recompute = {.mode = costmodel::RecomputeMode::Full};
    return differs;
  });
}
std::optional<PostTraining> one_sequence(const PostTraining& question, int /*number*/) {
  return with_recipes(question, [](costmodel::Recipe& recipe) {
    const bool differs = recipe.micro_batch > 1;
    recipe.micro_batch = 1;
    return differs;
  });
}
std::optional<PostTraining> chunked_loss(const PostTraining& question, int /*number*/) {
  return with_recipes(question, [](costmodel::Recipe& recipe) {
    const bool differs = recipe.cross_entropy != costmodel::CrossEntropy::Chunked;
    recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
    return differs;
  });
}

const Word kWords[] = {
    {"--offload-idle", "all", offload_all},
    {"--engine-tp", "2", engine_of, 2},
    {"--engine-tp", "4", engine_of, 4},
    {"--engine-tp", "8", engine_of, 8},
    {"--engine-memory", "0.6", share, 60},
    {"--engine-memory", "0.4", share, 40},
    {"--engine-weights", "fp8", weights_in_8_bits},
    {"--engine-sleep", "2", asleep},
    {"--recompute", "full", recomputed},
    {"--micro-batch", "1", one_sequence},
    {"--cross-entropy", "chunked", chunked_loss},
};

void keep_if_it_fits(const PostTraining& question, const costmodel::Calibration& calibration,
                     std::vector<std::pair<std::string, std::string>> flags,
                     std::vector<PostTrainingChange>& found) {
  costmodel::PostTrainingPlan plan = plan_post_training(question, calibration);
  if (!plan.rejected) found.push_back({std::move(flags), std::move(plan)});
}

bool is_enough(const Word& word, const std::vector<PostTrainingChange>& found) {
  return std::any_of(found.begin(), found.end(), [&](const PostTrainingChange& change) {
    return change.flags.size() == 1 && change.flags.front() == std::pair{word.flag, word.value};
  });
}

}  // namespace

std::vector<PostTrainingChange> fitting_post_training(const PostTraining& question,
                                                      const costmodel::Calibration& calibration,
                                                      std::size_t most) {
  std::vector<PostTrainingChange> found;
  for (const Word& word : kWords) {
    if (const auto changed = word.on(question))
      keep_if_it_fits(*changed, calibration, {{word.flag, word.value}}, found);
  }
  for (const Word& first : kWords) {
    const auto once = is_enough(first, found) ? std::nullopt : first.on(question);
    for (const Word* second = &first + 1; once && second != std::end(kWords); ++second) {
      if (second->flag == first.flag || is_enough(*second, found)) continue;
      if (const auto twice = second->on(*once))
        keep_if_it_fits(*twice, calibration, {{first.flag, first.value}, {second->flag, second->value}},
                        found);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const PostTrainingChange& a, const PostTrainingChange& b) {
    return a.plan.step < b.plan.step;
  });
  found.erase(found.begin() + static_cast<std::ptrdiff_t>(std::min(most, found.size())), found.end());
  return found;
}

}  // namespace hexaplan::planner
