#include "validator/executor/parallel/expert.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "costmodel/units/mutation.h"

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;

std::vector<std::int64_t> in_elements(std::vector<std::int64_t> rows, std::int64_t width) {
  for (std::int64_t& n : rows) n *= width;
  return rows;
}

/// Every member's counts, one behind the other.
std::vector<std::int32_t> everybodys(const Rank& rank, Communicator& group,
                                     const std::vector<std::int32_t>& own, const View& buffer) {
  const auto n = static_cast<std::int64_t>(own.size());
  const View all = buffer.reshaped(1, n * group.size());
  const View mine = all.slice(group.rank() * n, n);
  rank.device.upload(mine, own);
  group.all_gather(wire(mine), wire(all), rank.call("moe.counts", Pass::Forward, DType::Int32)).wait();
  std::vector<std::int32_t> out(own.size() * static_cast<std::size_t>(group.size()));
  rank.device.download(out, all);
  return out;
}

/// `counts` of every one of `ranks`, which are alike.
std::vector<std::int32_t> of_each(int ranks, const std::vector<std::int32_t>& counts) {
  std::vector<std::int32_t> all;
  for (int i = 0; i < ranks; ++i) all.insert(all.end(), counts.begin(), counts.end());
  return all;
}

std::vector<std::int32_t> all_places(std::size_t count) {
  std::vector<std::int32_t> places(count);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

}  // namespace

ExpertExchange::ExpertExchange(const Rank& rank, std::span<const std::int32_t> chosen)
    : ExpertExchange{rank, chosen, all_places(chosen.size())} {}

ExpertExchange::ExpertExchange(const Rank& rank, std::span<const std::int32_t> chosen,
                               std::vector<std::int32_t> kept)
    : places_{std::move(kept)},
      own_(static_cast<std::size_t>(rank.dims.experts)),
      local_experts_{static_cast<std::size_t>(rank.dims.experts_local)} {
  std::stable_sort(places_.begin(), places_.end(), [&](std::int32_t a, std::int32_t b) {
    return chosen[static_cast<std::size_t>(a)] < chosen[static_cast<std::size_t>(b)];
  });
  for (const std::int32_t place : places_)
    ++own_[static_cast<std::size_t>(chosen[static_cast<std::size_t>(place)])];
  if (rank.scenario.recipe.routing.pads()) {
    pad(rank);
  } else if (rank.groups.expert->size() == 1) {
    hear(rank, own_);
  }
}

/// Every rank sends every expert as many rows, so that nobody has to be told (NVIDIA/Megatron-LM
/// megatron/core/transformer/moe/token_dispatcher.py, preprocess: drop_and_pad).
void ExpertExchange::pad(const Rank& rank) {
  const auto capacity = static_cast<std::int32_t>(rank.dims.expert_capacity);
  std::vector<std::int32_t> padded;
  padded.reserve(own_.size() * static_cast<std::size_t>(capacity));
  auto next = places_.begin();
  for (std::int32_t& count : own_) {
    padded.insert(padded.end(), next, next + count);
    next += count;
    const std::int32_t missing = costmodel::mutant("experts-are-not-padded") ? 0 : capacity - count;
    padded.insert(padded.end(), static_cast<std::size_t>(missing), -1);
    count += missing;
  }
  places_ = std::move(padded);
  hear(rank, of_each(rank.groups.expert->size(), own_));
  if (rank.groups.expert_tensor->size() > 1) share(of_each(rank.groups.expert_tensor->size(), arriving_));
}

void ExpertExchange::tell(const Rank& rank, costmodel::Group group, const View& buffer) {
  if (group == costmodel::Group::Expert) {
    hear(rank, everybodys(rank, *rank.groups.expert, own_, buffer));
  } else {
    share(everybodys(rank, *rank.groups.expert_tensor, arriving_, buffer));
  }
}

/// What every rank of the expert group sends to this rank's experts.
void ExpertExchange::hear(const Rank& rank, const Counts& of_senders) {
  const Communicator& group = *rank.groups.expert;
  const std::size_t experts = own_.size(), local = local_experts_;
  const auto length = static_cast<std::ptrdiff_t>(local);
  const std::size_t first = static_cast<std::size_t>(group.rank()) * local;
  arriving_.clear();
  received_.clear();
  sent_.clear();
  for (std::size_t source = 0; source < static_cast<std::size_t>(group.size()); ++source) {
    const auto begin = of_senders.begin() + static_cast<std::ptrdiff_t>(source * experts + first);
    arriving_.insert(arriving_.end(), begin, begin + length);
    received_.push_back(std::accumulate(begin, begin + length, std::int64_t{0}));
    const auto to = own_.begin() + static_cast<std::ptrdiff_t>(source * local);
    sent_.push_back(std::accumulate(to, to + length, std::int64_t{0}));
  }
  received_rows_ = std::accumulate(received_.begin(), received_.end(), std::int64_t{0});
  if (rank.groups.expert_tensor->size() == 1) share(arriving_);
}

void ExpertExchange::share(const Counts& of_sharers) {
  std::vector<Counts> of_members;
  const auto length = static_cast<std::ptrdiff_t>(arriving_.size());
  for (auto at = of_sharers.begin(); at != of_sharers.end(); at += length)
    of_members.emplace_back(at, at + length);
  sort_by_expert(of_members, local_experts_);
}

/// The rows of one of `experts` among those of a member, which begin at `row`.
void ExpertExchange::append_rows_of(std::size_t expert, std::size_t experts, const Counts& counts,
                                    std::int64_t row) {
  for (std::size_t i = 0; i < counts.size(); row += counts[i++]) {
    if (i % experts != expert) continue;
    for (std::int64_t r = row; r < row + counts[i]; ++r) {
      inverse_[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(order_.size());
      order_.push_back(static_cast<std::int32_t>(r));
    }
  }
}

/// Exchanged rows lie member by member, each padded alike, inside a member source by source, inside a source
/// expert by expert.
void ExpertExchange::sort_by_expert(const std::vector<Counts>& of_members, std::size_t experts) {
  padded_rows_ = 0;
  order_.clear();
  offsets_ = {0};
  for (const Counts& counts : of_members)
    padded_rows_ = std::max(padded_rows_, std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  inverse_.assign(of_members.size() * static_cast<std::size_t>(padded_rows_), -1);
  for (std::size_t expert = 0; expert < experts; ++expert) {
    for (std::size_t member = 0; member < of_members.size(); ++member) {
      append_rows_of(expert, experts, of_members[member], static_cast<std::int64_t>(member) * padded_rows_);
    }
    offsets_.push_back(static_cast<std::int64_t>(order_.size()));
  }
}

void ExpertExchange::send_copies(const Rank& rank, const View& copies, const View& received,
                                 const Call& call) const {
  const std::int64_t width = copies.cols;
  const View own = received.row_range(0, received_rows_);
  rank.groups.expert
      ->all_to_all_v(wire(copies), in_elements(sent_, width), wire(own), in_elements(received_, width), call)
      .wait();
  rank.device.fill(received.row_range(received_rows_, padded_rows_ - received_rows_), 0);
}

void ExpertExchange::return_copies(const Rank& rank, const View& received, const View& copies,
                                   const Call& call) const {
  const std::int64_t width = copies.cols;
  const View own = received.row_range(0, received_rows_);
  rank.groups.expert
      ->all_to_all_v(wire(own), in_elements(received_, width), wire(copies), in_elements(sent_, width), call)
      .wait();
}

}  // namespace hexaplan::validator
