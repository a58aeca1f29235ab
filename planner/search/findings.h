#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "costmodel/units/quantity.h"
#include "planner/search/ranking.h"
#include "planner/search/space.h"

namespace hexaplan::planner {

/// A priced candidate and its sort key: `goal`, then `tie()`, then its position in the space. Smaller is
/// better.
struct Scored {
  double goal = 0;
  costmodel::Seconds step;
  costmodel::Bytes peak;
  Candidate candidate;
  double weight = 1;  // of the step: its caution, and how many steps the same tokens take
  [[nodiscard]] double tie() const { return step.value() * weight; }
  [[nodiscard]] friend bool better(const Scored& a, const Scored& b) {
    if (a.goal != b.goal) return a.goal < b.goal;
    if (a.tie() != b.tie()) return a.tie() < b.tie();
    return a.candidate < b.candidate;
  }
};

/// What plans of one family have in common. A ranking lists only the best member of a family.
struct Family {
  std::size_t hardware = 0;
  costmodel::Precision precision{};
  int tp = 0, cp = 0, ep = 0, etp = 0, zero = 0;
  std::uint8_t offload = 0;
  double offload_fraction = 1;
  std::uint16_t pp = 0, batch = 0;
  costmodel::RecomputeMode recompute{};
  std::uint16_t modules = 0;  // recomputed
  friend bool operator==(const Family&, const Family&) = default;
};

/// The best member of each of the best `most` families so far.
class TopList {
 public:
  explicit TopList(std::size_t most) : most_{most} {}
  /// False if `offer` would change nothing, whatever the family.
  [[nodiscard]] bool admits(const Scored& scored) const {
    return entries_.size() < most_ || (most_ > 0 && better(scored, entries_.back().scored));
  }
  void offer(const Scored& scored, const Family& family);
  void merge(const TopList& other);
  struct Entry {
    Scored scored;
    Family family;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::size_t most_;
  std::vector<Entry> entries_;  // best first
};

/// Candidates that refinement turns into the same plan: they differ only in what refinement chooses.
struct Prospect {
  /// Closed-form lower bounds of goal and step over all refinements, and the best member's position.
  Scored bound;
  /// The best member, unrefined; its step and peak are lower bounds if it was not priced.
  Scored best;
  bool priced = true;
};

/// The prospects with the lowest bounds, up to a fixed number.
class Prospects {
 public:
  explicit Prospects(std::size_t most) : most_{most} {}
  void offer(const Prospect& prospect);
  void merge(const Prospects& other);
  [[nodiscard]] bool complete() const { return complete_; }  // none was dropped for lack of room
  [[nodiscard]] std::vector<Prospect> sorted() const;        // by their bounds

 private:
  std::size_t most_;
  bool complete_ = true;
  std::vector<Prospect> heap_;  // the worst bound on top
};

/// Pareto front on the same GPUs: candidates that no other beats in both step time and peak memory; of equal
/// ones the first.
class Front {
 public:
  void offer(const Scored& scored);
  /// False if `offer` would change nothing.
  [[nodiscard]] bool admits(const Scored& scored) const;
  void merge(const Front& other) {
    for (const Scored& scored : other.points_) offer(scored);
  }
  [[nodiscard]] const std::vector<Scored>& points() const { return points_; }  // step rises, peak falls

 private:
  std::vector<Scored> points_;
};

/// The best of the units before another one.
struct Incumbents {
  TopList top;
  Front front;                  // on the same hardware
  std::optional<Scored> risky;  // Account::risky, on any
};

/// Candidates that one rule rejected, with the first of them. Dimensions that the rule does not read were not
/// chosen yet and have the first value of their list.
struct RuleTally {
  std::int64_t candidates = 0;
  Candidate example;
};
/// Candidates that one limit rejected, with the one that came closest.
struct LimitTally {
  std::int64_t candidates = 0;
  double distance = std::numeric_limits<double>::infinity();
  Candidate closest;
};

/// Limits in the order in which they are checked: what the risk rejects meets all the others.
enum class Limit : std::uint8_t { Memory, HostMemory, Hours, Dollars, Mfu, Risk };
inline constexpr std::size_t kLimits = 6;

/// What happened to the candidates of a part of the search.
struct Account {
  Account();
  /// Counts `candidates` that break rule `rule` (of search_rules()).
  void reject(std::size_t rule, std::int64_t candidates, const Candidate& example);
  /// Counts candidates that break `limit`, the closest of them by `distance`.
  void reject(Limit limit, std::int64_t candidates, double distance, const Candidate& closest);
  /// Records a candidate that meets every limit except the risk.
  void offer_risky(const Scored& scored) {
    if (admits_risky(scored)) risky = scored;
  }
  [[nodiscard]] bool admits_risky(const Scored& scored) const { return !risky || better(scored, *risky); }
  /// Adds that of a later part of the space.
  void merge(const Account& other);

  std::optional<Scored> risky;   // the best that meets every limit except the risk
  std::vector<RuleTally> rules;  // as search_rules()
  std::array<LimitTally, kLimits> limits;
  SearchCounts counts;
};

/// Results of a part of the search, on one hardware option.
struct Findings : Account {
  Findings(std::size_t most_families, std::size_t most_prospects)
      : top{most_families}, prospects{most_prospects} {}
  /// Adds the results of a later part of the space.
  void merge(const Findings& other);

  void offer_outclassed(const Scored& bound) {
    if (!outclassed || better(bound, *outclassed)) outclassed = bound;
  }

  TopList top;
  Prospects prospects;
  Front front;
  std::optional<Scored> outclassed;  // the least bound of layouts that were left out for it
};

}  // namespace hexaplan::planner
