#include "validator/executor/parallel/expert.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace hexaplan::validator {
namespace {

using costmodel::DType;
using costmodel::Pass;
using costmodel::TensorKind;

constexpr std::string_view kCounts = "moe.counts";

Tensor integers(const Rank& rank, std::string_view name, std::int64_t rows) {
  return rank.device.allocate({name, TensorKind::Transient, DType::Int32}, rows, 1);
}

/// Rows of x in another order.
void reorder(const Rank& rank, const View& x, const std::vector<std::int32_t>& rows, const View& out) {
  const Tensor list = integers(rank, "moe.rows", static_cast<std::int64_t>(rows.size()));
  rank.device.upload(list, rows);
  rank.device.gather_rows(x, list, out);
}

std::vector<std::int64_t> in_elements(std::vector<std::int64_t> rows, std::int64_t width) {
  for (std::int64_t& n : rows) n *= width;
  return rows;
}

/// Every member's counts, one behind the other.
std::vector<std::int32_t> everybodys(const Rank& rank, Communicator& group,
                                     const std::vector<std::int32_t>& own) {
  if (group.size() == 1) return own;
  const auto n = static_cast<std::int64_t>(own.size());
  const Tensor all = integers(rank, "moe.counts", n * group.size());
  const View mine = all.view().row_range(group.rank() * n, n);
  rank.device.upload(mine, own);
  group.all_gather(wire(mine), wire(all), rank.call(kCounts, Pass::Forward, DType::Int32)).wait();
  std::vector<std::int32_t> out(own.size() * static_cast<std::size_t>(group.size()));
  rank.device.download(out, all);
  return out;
}

}  // namespace

ExpertExchange::ExpertExchange(const Rank& rank, std::span<const std::int32_t> chosen) {
  Communicator& group = *rank.groups.expert;
  const auto experts = static_cast<std::size_t>(rank.dims.experts);
  const auto local = static_cast<std::size_t>(rank.dims.experts_local);
  const auto ranks = static_cast<std::size_t>(group.size());
  places_.resize(chosen.size());
  std::iota(places_.begin(), places_.end(), 0);
  std::stable_sort(places_.begin(), places_.end(), [&](std::int32_t a, std::int32_t b) {
    return chosen[static_cast<std::size_t>(a)] < chosen[static_cast<std::size_t>(b)];
  });
  std::vector<std::int32_t> own(experts);
  for (const std::int32_t expert : chosen) ++own[static_cast<std::size_t>(expert)];

  // What every rank of the group sends to this rank's experts.
  const std::vector<std::int32_t> all = everybodys(rank, group, own);
  const std::size_t first = static_cast<std::size_t>(group.rank()) * local;
  Counts counts;
  for (std::size_t source = 0; source < ranks; ++source) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(source * experts + first);
    counts.insert(counts.end(), begin, begin + static_cast<std::ptrdiff_t>(local));
    received_.push_back(std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(local), std::int64_t{0}));
    const auto to = own.begin() + static_cast<std::ptrdiff_t>(source * local);
    sent_.push_back(std::accumulate(to, to + static_cast<std::ptrdiff_t>(local), std::int64_t{0}));
  }
  received_rows_ = std::accumulate(received_.begin(), received_.end(), std::int64_t{0});

  const std::vector<std::int32_t> shared = everybodys(rank, *rank.groups.expert_tensor, counts);
  std::vector<Counts> of_members;
  for (auto at = shared.begin(); at != shared.end(); at += static_cast<std::ptrdiff_t>(counts.size()))
    of_members.emplace_back(at, at + static_cast<std::ptrdiff_t>(counts.size()));
  sort_by_expert(of_members, local);
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

Tensor ExpertExchange::to_experts(const Rank& rank, Tensor copies, const ExpertWay& way,
                                  const TensorLabel& label) const {
  Communicator &experts = *rank.groups.expert, &shared = *rank.groups.expert_tensor;
  if (experts.size() == 1 && shared.size() == 1) {  // nobody to talk to: copies are in order already
    copies.relabel(label);
    return copies;
  }
  const std::int64_t width = copies.view().cols;
  Tensor exchanged = rank.transient("moe.exchanged", padded_rows_ * shared.size(), width);
  const View slot = exchanged.view().row_range(padded_rows_ * shared.rank(), padded_rows_);
  const View own = slot.row_range(0, received_rows_);
  experts
      .all_to_all_v(wire(copies.view()), in_elements(sent_, width), wire(own), in_elements(received_, width),
                    rank.call(way.all_to_all, way.pass))
      .wait();
  copies.free();
  rank.device.fill(slot.row_range(received_rows_, padded_rows_ - received_rows_), 0);
  if (shared.size() > 1)
    shared.all_gather(wire(slot), wire(exchanged), rank.call(way.across_tensor_ranks, way.pass)).wait();
  Tensor sorted = rank.device.allocate(label, rows(), width);
  reorder(rank, exchanged, order_, sorted);
  return sorted;
}

Tensor ExpertExchange::from_experts(const Rank& rank, Tensor sorted, const ExpertWay& way,
                                    const TensorLabel& label) const {
  Communicator &experts = *rank.groups.expert, &shared = *rank.groups.expert_tensor;
  if (experts.size() == 1 && shared.size() == 1) {
    sorted.relabel(label);
    return sorted;
  }
  const std::int64_t width = sorted.view().cols;
  Tensor exchanged = rank.transient("moe.exchanged", padded_rows_ * shared.size(), width);
  reorder(rank, sorted, inverse_, exchanged);
  sorted.free();
  if (shared.size() > 1) {
    Tensor sum = rank.transient("moe.exchanged_sum", padded_rows_, width);
    shared
        .reduce_scatter(wire(exchanged), wire(sum), Reduction::Sum,
                        rank.call(way.across_tensor_ranks, way.pass))
        .wait();
    exchanged = std::move(sum);
  }
  const View own = exchanged.view().row_range(0, received_rows_);
  Tensor copies = rank.device.allocate(label, static_cast<std::int64_t>(places_.size()), width);
  experts
      .all_to_all_v(wire(own), in_elements(received_, width), wire(copies), in_elements(sent_, width),
                    rank.call(way.all_to_all, way.pass))
      .wait();
  return copies;
}

}  // namespace hexaplan::validator
