#include "validator/measure/accuracy/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>

namespace hexaplan::validator {
namespace {

struct WeightedMean {
  double weight = 0, absolute = 0, signed_error = 0;
  void add(double w, double error) {
    weight += w;
    absolute += w * std::abs(error);
    signed_error += w * error;
  }
};

/// Mean of the weights a source gives, for its rows without one; 1 when it gives none.
std::map<std::string_view, double> default_weights(const std::vector<Residual>& residuals) {
  std::map<std::string_view, std::pair<double, int>> given;
  for (const Residual& r : residuals) {
    auto& [sum, count] = given[r.source];
    if (r.weight) sum += *r.weight, ++count;
  }
  std::map<std::string_view, double> defaults;
  for (const auto& [source, total] : given) {
    defaults[source] = total.second > 0 && total.first > 0 ? total.first / total.second : 1.0;
  }
  return defaults;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> average_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = static_cast<double>(first + last) / 2.0;
    first = last + 1;
  }
  return ranks;
}

}  // namespace

ErrorSummary summarise(const std::vector<Residual>& residuals, std::size_t skipped) {
  ErrorSummary summary{.rows = residuals.size(), .skipped = skipped};
  const auto defaults = default_weights(residuals);
  std::map<std::string_view, WeightedMean> by_source;
  std::vector<double> absolute;
  for (const Residual& r : residuals) {
    by_source[r.source].add(r.weight.value_or(defaults.at(r.source)), r.error());
    absolute.push_back(std::abs(r.error()));
    summary.worst = std::max(summary.worst, absolute.back());
  }
  double sources = 0;
  for (const auto& [source, mean] : by_source) {
    if (mean.weight <= 0) continue;
    summary.macro_mean_abs_error += mean.absolute / mean.weight;
    summary.bias += mean.signed_error / mean.weight;
    ++sources;
  }
  if (sources > 0) {
    summary.macro_mean_abs_error /= sources;
    summary.bias /= sources;
  }
  summary.median_abs_error = median(std::move(absolute));
  return summary;
}

std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b) {
  assert(a.size() == b.size());
  if (a.size() < 2) return std::nullopt;
  const std::vector<double> rank_a = average_ranks(a), rank_b = average_ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2.0;
  double covariance = 0, variance_a = 0, variance_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    covariance += (rank_a[i] - mean) * (rank_b[i] - mean);
    variance_a += (rank_a[i] - mean) * (rank_a[i] - mean);
    variance_b += (rank_b[i] - mean) * (rank_b[i] - mean);
  }
  if (variance_a == 0 || variance_b == 0) return std::nullopt;
  return covariance / std::sqrt(variance_a * variance_b);
}

double regret(const std::vector<RankedRun>& runs) {
  assert(!runs.empty());
  // A planner takes what fits first, then what is fast.
  const auto preferred = [](const RankedRun& a, const RankedRun& b) {
    return a.fits != b.fits ? a.fits : a.predicted < b.predicted;
  };
  const auto faster = [](const RankedRun& a, const RankedRun& b) { return a.measured < b.measured; };
  const double picked = std::min_element(runs.begin(), runs.end(), preferred)->measured;
  return picked / std::min_element(runs.begin(), runs.end(), faster)->measured - 1.0;
}

RankingSummary summarise_ranking(const std::vector<std::vector<RankedRun>>& groups) {
  constexpr double kGoodPick = 0.05;
  RankingSummary summary;
  std::vector<double> regrets, correlations;
  for (const std::vector<RankedRun>& runs : groups) {
    if (runs.size() < 2) continue;
    regrets.push_back(regret(runs));
    std::vector<double> predicted, measured;
    for (const RankedRun& run : runs) {
      predicted.push_back(run.predicted);
      measured.push_back(run.measured);
    }
    if (const auto correlation = spearman(predicted, measured)) correlations.push_back(*correlation);
  }
  summary.groups = regrets.size();
  summary.groups_within_5_percent = static_cast<std::size_t>(
      std::count_if(regrets.begin(), regrets.end(), [](double lost) { return lost <= kGoodPick; }));
  summary.mean_regret = mean(regrets);
  summary.worst_regret = regrets.empty() ? 0 : *std::max_element(regrets.begin(), regrets.end());
  summary.mean_spearman = mean(correlations);
  summary.median_regret = median(std::move(regrets));
  return summary;
}

OutOfMemorySummary summarise_out_of_memory(const std::vector<std::pair<bool, bool>>& outcomes,
                                           std::size_t skipped) {
  OutOfMemorySummary summary{.rows = outcomes.size(), .skipped = skipped};
  for (const auto& [predicted, measured] : outcomes) {
    if (measured && !predicted) ++summary.false_fit;
    if (predicted && !measured) ++summary.false_oom;
  }
  const std::size_t wrong = summary.false_fit + summary.false_oom;
  if (!outcomes.empty())
    summary.accuracy = 1.0 - static_cast<double>(wrong) / static_cast<double>(outcomes.size());
  return summary;
}

}  // namespace hexaplan::validator
