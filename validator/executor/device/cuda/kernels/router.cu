#include <cassert>

#include "validator/executor/device/cuda/kernels/spread.h"

namespace hexaplan::validator::cuda {
namespace {

// One warp per token: a lane has every 32nd expert.

/// An expert as a token ranks it: the more probable one first, the smaller id of equals.
struct Ranked {
  float probability;
  int expert;
};
HEXAPLAN_DEVICE bool before(const Ranked& a, const Ranked& b) {
  return a.probability > b.probability || (a.probability == b.probability && a.expert < b.expert);
}

HEXAPLAN_DEVICE void softmax(const View& logits, const View& probabilities, std::int64_t r) {
  float largest = kNothing, sum = 0;
  for (std::int64_t e = threadIdx.x; e < logits.cols; e += kWarp)
    largest = fmaxf(largest, load(logits, r, e));
  largest = over_lanes(largest, Max{});
  for (std::int64_t e = threadIdx.x; e < logits.cols; e += kWarp) sum += expf(load(logits, r, e) - largest);
  sum = over_lanes(sum);
  for (std::int64_t e = threadIdx.x; e < logits.cols; e += kWarp)
    store(probabilities, r, e, expf(load(logits, r, e) - largest) / sum);
}

/// The first expert behind `last`. Experts whose probability is not a number come last, so that there always
/// is one.
HEXAPLAN_DEVICE Ranked next_of(const View& probabilities, std::int64_t r, const Ranked& last, int place) {
  Ranked best{-1, place};
  for (std::int64_t e = threadIdx.x; e < probabilities.cols; e += kWarp) {
    const Ranked candidate{load(probabilities, r, e), static_cast<int>(e)};
    if (before(last, candidate) && before(candidate, best)) best = candidate;
  }
  for (unsigned lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const Ranked other{shuffle_xor(best.probability, lanes), shuffle_xor(best.expert, lanes)};
    if (before(other, best)) best = other;
  }
  return best;
}

HEXAPLAN_KERNEL route_tokens(View logits, bool given, bool renormalise, View probabilities, View chosen,
                             View weights) {
  const std::int64_t tokens = std::int64_t{gridDim.x} * blockDim.y;
  for (std::int64_t r = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y; r < logits.rows; r += tokens) {
    softmax(logits, probabilities, r);
    Ranked last{-kNothing, -1};
    for (int k = 0; !given && k < chosen.cols; ++k) {
      last = next_of(probabilities, r, last, k);
      if (threadIdx.x == 0) integers(chosen, r)[k] = last.expert;
    }
    sync_warp();  // probabilities and choices of other lanes can be read
    float sum = 0;
    for (std::int64_t k = threadIdx.x; k < chosen.cols; k += kWarp)
      sum += load(probabilities, r, integers(chosen, r)[k]);
    const float divisor = over_lanes(sum);
    for (std::int64_t k = threadIdx.x; k < chosen.cols; k += kWarp) {
      const float probability = load(probabilities, r, integers(chosen, r)[k]);
      store(weights, r, k, renormalise ? probability / divisor : probability);
    }
  }
}

/// w_k = p_k / Σ p over the chosen: dp_k = (dw_k − Σ dw·w) / Σ p; without renormalisation dp_k = dw_k.
HEXAPLAN_KERNEL route_tokens_backward(View probabilities, View chosen, View weights, bool renormalise,
                                      View d_weights, View d_mean, View d_logits) {
  const std::int64_t tokens = std::int64_t{gridDim.x} * blockDim.y;
  for (std::int64_t r = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y; r < probabilities.rows;
       r += tokens) {
    const std::int32_t* ids = integers(chosen, r);
    float sum = 0, mean = 0;
    for (std::int64_t k = threadIdx.x; k < chosen.cols; k += kWarp) {
      sum += load(probabilities, r, ids[k]);
      mean += load(d_weights, r, k) * load(weights, r, k);
    }
    const float divisor = renormalise ? over_lanes(sum) : 1;
    mean = renormalise ? over_lanes(mean) : 0;
    float projection = 0;
    for (std::int64_t k = threadIdx.x; k < chosen.cols; k += kWarp)
      projection += load(probabilities, r, ids[k]) * (load(d_weights, r, k) - mean) / divisor;
    for (std::int64_t e = threadIdx.x; d_mean.data != nullptr && e < probabilities.cols; e += kWarp)
      projection += load(probabilities, r, e) * vector_at(d_mean, e);
    projection = over_lanes(projection);
    for (std::int64_t e = threadIdx.x; e < probabilities.cols; e += kWarp) {
      float gradient = d_mean.data != nullptr ? vector_at(d_mean, e) : 0;
      for (std::int64_t k = 0; k < chosen.cols; ++k) {
        if (ids[k] == e) gradient += (load(d_weights, r, k) - mean) / divisor;
      }
      store(d_logits, r, e, load(probabilities, r, e) * (gradient - projection));
    }
  }
}

}  // namespace

void route(const Queue& queue, const View& logits, bool given, bool renormalise, const View& probabilities,
           const View& chosen, const View& weights) {
  assert(chosen.cols <= logits.cols && weights.cols == chosen.cols && chosen.element == Element::I32);
  launch(queue, by_warps("route", logits.rows), route_tokens, logits, given, renormalise, probabilities,
         chosen, weights);
}

void route_backward(const Queue& queue, const View& probabilities, const View& chosen, const View& weights,
                    bool renormalise, const View& d_weights, const View& d_mean, const View& d_logits) {
  assert(d_weights.cols == chosen.cols && d_logits.cols == probabilities.cols);
  launch(queue, by_warps("route_backward", probabilities.rows), route_tokens_backward, probabilities, chosen,
         weights, renormalise, d_weights, d_mean, d_logits);
}

}  // namespace hexaplan::validator::cuda
