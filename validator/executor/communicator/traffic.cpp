#include "validator/executor/communicator/traffic.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hexaplan::validator {

using costmodel::CollectiveKind;
using costmodel::Group;

namespace {

constexpr std::array<std::string_view, kCollectiveKinds> kKindNames = {
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send/recv", "broadcast"};

template <class Matches>
TrafficCount sum_if(const std::vector<TrafficRow>& rows, const Matches& matches) {
  return std::accumulate(
      rows.begin(), rows.end(), TrafficCount{},
      [&](TrafficCount sum, const TrafficRow& row) { return matches(row) ? sum += row.count : sum; });
}

}  // namespace

std::string_view name_of(CollectiveKind kind) {
  return kKindNames.at(static_cast<std::size_t>(kind));
}

TrafficCount& TrafficCount::operator+=(const TrafficCount& other) {
  messages += other.messages;
  bytes += other.bytes;
  time += other.time;
  timed += other.timed;
  timed_bytes += other.timed_bytes;
  device_time += other.device_time;
  return *this;
}

void Traffic::add(const Call& call, CollectiveKind kind, Group group, const TrafficCount& count,
                  Timing timing) {
  const auto same = [&](const TrafficRow& row) {
    return row.operation == call.operation && row.pass == call.pass && row.kind == kind && row.group == group;
  };
  auto row = std::find_if(rows_.begin(), rows_.end(), same);
  if (row == rows_.end()) row = rows_.insert(rows_.end(), {call.operation, call.pass, kind, group, {}});
  row->count += count;
  if (!timing) return;
  timings_.push_back({static_cast<std::size_t>(row - rows_.begin()), count.bytes, std::move(timing)});
}

void Traffic::settle() {
  for (const Timed& message : timings_) {
    TrafficCount& count = rows_[message.row].count;
    ++count.timed;
    count.timed_bytes += message.bytes;
    count.device_time += message.timing();
  }
  timings_.clear();
}

TrafficCount Traffic::of(CollectiveKind kind, Group group) const {
  return sum_if(rows_, [&](const TrafficRow& row) { return row.kind == kind && row.group == group; });
}

TrafficCount Traffic::of(std::string_view operation, costmodel::Pass pass) const {
  return sum_if(rows_, [&](const TrafficRow& row) { return row.operation == operation && row.pass == pass; });
}

}  // namespace hexaplan::validator
