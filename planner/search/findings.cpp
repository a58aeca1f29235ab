#include "planner/search/findings.h"

#include <algorithm>

#include "planner/search/search_rules.h"

namespace hexaplan::planner {

void TopList::offer(const Scored& scored, const Family& family) {
  if (!admits(scored)) return;
  const auto same = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return entry.family == family; });
  if (same != entries_.end()) {
    if (!better(scored, same->scored)) return;
    entries_.erase(same);
  }
  const auto place = std::upper_bound(entries_.begin(), entries_.end(), scored,
                                      [](const Scored& a, const Entry& b) { return better(a, b.scored); });
  entries_.insert(place, {scored, family});
  if (entries_.size() > most_) entries_.pop_back();
}

void TopList::merge(const TopList& other) {
  for (const Entry& entry : other.entries_) offer(entry.scored, entry.family);
}

namespace {

bool has_better_bound(const Prospect& a, const Prospect& b) {
  return better(a.bound, b.bound);
}

}  // namespace

void Prospects::offer(const Prospect& prospect) {
  if (heap_.size() == most_) {
    complete_ = false;
    if (most_ == 0 || !has_better_bound(prospect, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), has_better_bound);
    heap_.pop_back();
  }
  heap_.push_back(prospect);
  std::push_heap(heap_.begin(), heap_.end(), has_better_bound);
}

void Prospects::merge(const Prospects& other) {
  for (const Prospect& prospect : other.heap_) offer(prospect);
  complete_ = complete_ && other.complete_;
}

std::vector<Prospect> Prospects::sorted() const {
  std::vector<Prospect> out = heap_;
  std::sort(out.begin(), out.end(), has_better_bound);
  return out;
}

bool Front::admits(const Scored& scored) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), scored,
                                      [](const Scored& a, const Scored& b) { return a.step < b.step; });
  if (after == points_.begin()) return true;
  const Scored& before = *(after - 1);
  if (before.peak != scored.peak) return scored.peak < before.peak;
  return before.step == scored.step && scored.candidate < before.candidate;
}

void Front::offer(const Scored& scored) {
  if (!admits(scored)) return;
  // From the first point that is as fast or slower on, those with as much memory or more are beaten.
  const auto first = std::lower_bound(points_.begin(), points_.end(), scored,
                                      [](const Scored& a, const Scored& b) { return a.step < b.step; });
  const auto last =
      std::find_if(first, points_.end(), [&](const Scored& point) { return point.peak < scored.peak; });
  if (first == last) {
    points_.insert(first, scored);
  } else {
    *first = scored;
    points_.erase(first + 1, last);
  }
}

Account::Account() : rules(search_rules().size()) {}

void Account::reject(std::size_t rule, std::int64_t candidates, const Candidate& example) {
  RuleTally& tally = rules[rule];
  if (tally.candidates == 0) tally.example = example;
  tally.candidates += candidates;
  counts.enumerated += candidates;
  counts.rejected += candidates;
}

void Account::reject(Limit limit, std::int64_t candidates, double distance, const Candidate& closest) {
  LimitTally& tally = limits[static_cast<std::size_t>(limit)];
  tally.candidates += candidates;
  const bool earlier = distance == tally.distance && closest.unit < tally.closest.unit;
  if (distance < tally.distance || earlier) {
    tally.distance = distance;
    tally.closest = closest;
  }
}

void Account::merge(const Account& other) {
  if (other.risky) offer_risky(*other.risky);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const RuleTally& tally = other.rules[i];
    const bool earlier = tally.candidates > 0 && tally.example.unit < rules[i].example.unit;
    if (rules[i].candidates == 0 || earlier) rules[i].example = tally.example;
    rules[i].candidates += tally.candidates;
  }
  for (std::size_t i = 0; i < kLimits; ++i) {
    reject(static_cast<Limit>(i), other.limits[i].candidates, other.limits[i].distance,
           other.limits[i].closest);
  }
  counts.enumerated += other.counts.enumerated;
  counts.rejected += other.counts.rejected;
  counts.pruned += other.counts.pruned;
  counts.outclassed += other.counts.outclassed;
  counts.priced += other.counts.priced;
  counts.feasible += other.counts.feasible;
}

void Findings::merge(const Findings& other) {
  Account::merge(other);
  top.merge(other.top);
  prospects.merge(other.prospects);
  front.merge(other.front);
  if (other.outclassed) offer_outclassed(*other.outclassed);
}

}  // namespace hexaplan::planner
