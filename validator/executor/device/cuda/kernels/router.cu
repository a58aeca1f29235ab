#include <cassert>

#include "validator/executor/device/cuda/kernels/spread.h"
#include "validator/executor/device/operation_forms.h"

namespace hexaplan::validator::cuda {
namespace {

// One warp per token: a lane has every 32nd expert.

/// An expert as a token ranks it: the higher one first, the smaller id of equals.
struct Ranked {
  float rank;
  int expert;
};
HEXAPLAN_DEVICE bool before(const Ranked& a, const Ranked& b) {
  return a.rank > b.rank || (a.rank == b.rank && a.expert < b.expert);
}

HEXAPLAN_DEVICE void softmax(const View& logits, const View& scores, std::int64_t r) {
  float largest = kNothing, sum = 0;
  for (std::int64_t e = threadIdx.x; e < logits.cols; e += kWarp)
    largest = fmaxf(largest, load(logits, r, e));
  largest = over_lanes(largest, Max{});
  for (std::int64_t e = threadIdx.x; e < logits.cols; e += kWarp) sum += expf(load(logits, r, e) - largest);
  sum = over_lanes(sum);
  for (std::int64_t e = threadIdx.x; e < logits.cols; e += kWarp)
    store(scores, r, e, expf(load(logits, r, e) - largest) / sum);
}
HEXAPLAN_DEVICE void sigmoids(const View& logits, const View& scores, std::int64_t r) {
  for (std::int64_t e = threadIdx.x; e < logits.cols; e += kWarp)
    store(scores, r, e, 1 / (1 + expf(-load(logits, r, e))));
}

/// What experts of one token are chosen by.
struct Ranks {
  View scores, correction;
  std::int64_t r, group_size;
  unsigned taken;  // bit g: experts of group g may be chosen

  HEXAPLAN_DEVICE float score(std::int64_t e) const {
    return load(scores, r, e) + (correction.data != nullptr ? vector_at(correction, e) : 0);
  }
  HEXAPLAN_DEVICE float of(std::int64_t e) const {
    return (taken >> (e / group_size) & 1U) != 0 ? score(e) : kNothing;
  }
  /// Sum of the `best` (1 or 2) largest scores of a group.
  HEXAPLAN_DEVICE float of_group(std::int64_t g, int best) const {
    float first = kNothing, second = kNothing;
    for (std::int64_t e = g * group_size; e < (g + 1) * group_size; ++e) {
      const float candidate = score(e);
      second = fmaxf(second, fminf(first, candidate));
      first = fmaxf(first, candidate);
    }
    return best > 1 && group_size > 1 ? first + second : first;
  }
};

/// The groups that a token takes, one per bit: lane g ranks group g. All lanes call it; `of_groups` is this
/// warp's alone.
HEXAPLAN_DEVICE unsigned taken_groups(const RouterForm& form, const Ranks& ranks, float* of_groups) {
  const auto groups = static_cast<unsigned>(form.groups), lane = threadIdx.x;
  if (lane < groups) of_groups[lane] = ranks.of_group(lane, form.best_of_group);
  sync_warp();
  unsigned better = 0;
  for (unsigned g = 0; lane < groups && g < groups; ++g)
    better += before({of_groups[g], static_cast<int>(g)}, {of_groups[lane], static_cast<int>(lane)}) ? 1 : 0;
  sync_warp();  // the next token writes
  return ballot(lane < groups && better < static_cast<unsigned>(form.top_groups));
}

/// The first expert behind `last`. Experts whose rank is not a number come last, so that there always is one.
HEXAPLAN_DEVICE Ranked next_of(const Ranks& ranks, std::int64_t experts, const Ranked& last, int place) {
  Ranked best{kNothing, static_cast<int>(experts)};
  for (std::int64_t e = threadIdx.x; e < experts; e += kWarp) {
    const Ranked candidate{ranks.of(e), static_cast<int>(e)};
    if (before(last, candidate) && before(candidate, best)) best = candidate;
  }
  for (unsigned lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const Ranked other{shuffle_xor(best.rank, lanes), shuffle_xor(best.expert, lanes)};
    if (before(other, best)) best = other;
  }
  if (best.expert == experts) best.expert = place;
  return best;
}

/// What the chosen scores are divided by, on all lanes.
HEXAPLAN_DEVICE float divisor_of(const RouterForm& form, const View& scores, const View& chosen,
                                 std::int64_t r) {
  float sum = 0;
  for (std::int64_t k = threadIdx.x; k < chosen.cols; k += kWarp)
    sum += load(scores, r, integers(chosen, r)[k]);
  return form.renormalise ? over_lanes(sum) + static_cast<float>(form.epsilon) : 1;
}

HEXAPLAN_KERNEL route_tokens(RouterForm form, View logits, View correction, View scores, View chosen,
                             View weights) {
  HEXAPLAN_SHARED float of_groups[kWarpsPerBlock][kWarp];
  const std::int64_t tokens = std::int64_t{gridDim.x} * blockDim.y;
  const auto factor = static_cast<float>(form.factor);
  for (std::int64_t r = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y; r < logits.rows; r += tokens) {
    form.score == costmodel::RouterScore::Sigmoid ? sigmoids(logits, scores, r) : softmax(logits, scores, r);
    sync_warp();  // scores of other lanes can be read
    Ranks ranks{scores, correction, r, logits.cols / form.groups, ~0U};
    if (!form.given && form.top_groups < form.groups)
      ranks.taken = taken_groups(form, ranks, of_groups[threadIdx.y]);
    Ranked last{-kNothing, -1};
    for (int k = 0; !form.given && k < chosen.cols; ++k) {
      last = next_of(ranks, logits.cols, last, k);
      if (threadIdx.x == 0) integers(chosen, r)[k] = last.expert;
    }
    sync_warp();  // choices of other lanes can be read
    const float divisor = divisor_of(form, scores, chosen, r);
    for (std::int64_t k = threadIdx.x; k < chosen.cols; k += kWarp)
      store(weights, r, k, factor * load(scores, r, integers(chosen, r)[k]) / divisor);
  }
}

/// w_k = f·s_k/D, D = Σ s + ε over the chosen: ds_k = (f·dw_k − Σ dw·w)/D; without renormalisation f·dw_k.
HEXAPLAN_KERNEL route_tokens_backward(RouterForm form, View scores, View chosen, View weights, View d_weights,
                                      View d_mean, View d_logits) {
  const std::int64_t tokens = std::int64_t{gridDim.x} * blockDim.y;
  const auto factor = static_cast<float>(form.factor);
  const bool softmax = form.score == costmodel::RouterScore::Softmax, balances = d_mean.data != nullptr;
  // A softmax does not see what all experts share; what is left of evenly filled ones is exactly nothing.
  const float base = softmax && balances ? vector_at(d_mean, 0) : 0;
  for (std::int64_t r = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y; r < scores.rows; r += tokens) {
    const std::int32_t* ids = integers(chosen, r);
    float mean = 0;
    for (std::int64_t k = threadIdx.x; k < chosen.cols; k += kWarp)
      mean += load(d_weights, r, k) * load(weights, r, k);
    mean = form.renormalise ? over_lanes(mean) : 0;
    const float divisor = divisor_of(form, scores, chosen, r);
    const auto of_choice = [&](std::int64_t k) { return (factor * load(d_weights, r, k) - mean) / divisor; };
    float projection = 0;
    for (std::int64_t k = threadIdx.x; k < chosen.cols; k += kWarp)
      projection += load(scores, r, ids[k]) * of_choice(k);
    for (std::int64_t e = threadIdx.x; balances && e < scores.cols; e += kWarp)
      projection += load(scores, r, e) * (vector_at(d_mean, e) - base);
    projection = over_lanes(projection);
    for (std::int64_t e = threadIdx.x; e < scores.cols; e += kWarp) {
      float gradient = balances ? vector_at(d_mean, e) - base : 0;
      for (std::int64_t k = 0; k < chosen.cols; ++k) {
        if (ids[k] == e) gradient += of_choice(k);
      }
      const float score = load(scores, r, e);
      store(d_logits, r, e, score * (softmax ? gradient - projection : gradient * (1 - score)));
    }
  }
}

}  // namespace

void route(const Queue& queue, const RouterForm& form, const View& logits, const View& correction,
           const View& scores, const View& chosen, const View& weights) {
  assert(chosen.cols <= logits.cols && weights.cols == chosen.cols && chosen.element == Element::I32);
  assert(form.groups <= RouterForm::kMostGroups && logits.cols % form.groups == 0);
  launch(queue, by_warps("route", logits.rows), route_tokens, form, logits, correction, scores, chosen,
         weights);
}

void route_backward(const Queue& queue, const RouterForm& form, const View& scores, const View& chosen,
                    const View& weights, const View& d_weights, const View& d_mean, const View& d_logits) {
  assert(d_weights.cols == chosen.cols && d_logits.cols == scores.cols);
  launch(queue, by_warps("route_backward", scores.rows), route_tokens_backward, form, scores, chosen, weights,
         d_weights, d_mean, d_logits);
}

}  // namespace hexaplan::validator::cuda
