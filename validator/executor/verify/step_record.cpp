#include "validator/executor/verify/step_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "costmodel/memory/memory_kinds.h"
#include "validator/executor/communicator/traffic.h"
#include "validator/executor/report/execution_report.h"
#include "validator/executor/step/run_steps.h"

namespace hexaplan::validator {
namespace {

using costmodel::Scenario;

constexpr const char* kPasses[] = {"forward", "backward", "weight gradient", "step"};

std::string pass_name(costmodel::Pass pass) {
  return kPasses[static_cast<std::size_t>(pass)];
}

RankRecord record_of(const RankReport& rank) {
  RankRecord out{
      .stage = rank.stage, .peak = rank.memory.peak_by_kind, .at = rank.memory.peak_at, .counts = {}};
  for (const auto& o : rank.operations) {
    if (o.flops.value() > 0)
      out.counts[fmt::format("{} {} FLOPs", o.name, pass_name(o.pass))] += o.flops.value();
  }
  for (const auto& t : rank.traffic) {
    const std::string row =
        fmt::format("{} {} {} {}", t.operation, pass_name(t.pass), name_of(t.kind), name_of(t.group));
    out.counts[row + " messages"] += static_cast<double>(t.count.messages);
    out.counts[row + " bytes"] += t.count.bytes.value();
  }
  return out;
}

const RankRecord& record_of_rank(const StepRecord& step, int rank) {
  for (const StepRecord::Ranks& kind : step.ranks) {
    if (std::find(kind.ranks.begin(), kind.ranks.end(), rank) != kind.ranks.end()) return kind.record;
  }
  throw std::runtime_error{fmt::format("nothing is known of rank {}", rank)};
}

void compare_ranks(int rank, const RankRecord& then, const RankRecord& now, Verification& out) {
  const auto compare = [&](const std::string& what, double recorded, double executed) {
    ++out.compared;
    if (recorded != executed) out.mismatches.push_back({rank, "recorded " + what, recorded, executed});
  };
  const auto compare_bytes = [&](const std::string& where, const BytesByKind& recorded,
                                 const BytesByKind& executed) {
    for (const costmodel::MemoryKind& row : costmodel::kMemoryKinds) {
      const auto i = static_cast<std::size_t>(row.kind);
      compare(fmt::format("bytes of {} at {}", row.name, where), static_cast<double>(recorded[i]),
              static_cast<double>(executed[i]));
    }
  };
  const auto count_of = [](const RankRecord& record, const std::string& name) {
    const auto found = record.counts.find(name);
    return found == record.counts.end() ? 0 : found->second;
  };
  compare("stage", then.stage, now.stage);
  compare_bytes("the peak", then.peak, now.peak);
  for (std::size_t i = 0; i < then.at.size(); ++i) {
    const std::string_view instant = costmodel::name_of(costmodel::instant_at(static_cast<int>(i)));
    compare_bytes(fmt::format("instant \"{}\"", instant), then.at[i], now.at[i]);
  }
  std::set<std::string> names;
  for (const RankRecord* record : {&then, &now}) {
    for (const auto& [name, ignored] : record->counts) names.insert(name);
  }
  for (const std::string& name : names) compare(name, count_of(then, name), count_of(now, name));
}

/// Ranks that were alike: behind the first that differs its neighbours differ alike.
void compare_kind(const StepRecord::Ranks& kind, const StepRecord& now, Verification& out) {
  const std::size_t before = out.mismatches.size();
  for (const int rank : kind.ranks) {
    if (out.mismatches.size() == before) compare_ranks(rank, kind.record, record_of_rank(now, rank), out);
  }
}

/// Sums may be taken in another order; nothing else may move.
void compare_steps(const StepRecord& then, const StepRecord& now, Verification& out) {
  const auto compare = [&](const char* what, double recorded, double executed, double& worst) {
    ++out.compared;
    const double difference = std::abs(executed - recorded) / std::abs(recorded);
    worst = std::max(worst, difference);
    if (!(difference <= kSameNumbers)) out.mismatches.push_back({-1, what, recorded, executed});
  };
  compare("recorded loss", then.loss, now.loss, out.loss_error);
  compare("recorded gradient norm", then.gradient_norm, now.gradient_norm, out.norm_error);
}

// --- The file ----------------------------------------------------------------------------------------------

/// "0-3,5": runs of neighbours.
std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
    if (end - i > 1) text += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return text;
}
std::vector<int> read_ranks(const std::string& text) {
  std::vector<int> ranks;
  std::istringstream in{text};
  for (std::string part; std::getline(in, part, ',');) {
    const std::size_t dash = part.find('-');
    const int first = std::stoi(part),
              last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int rank = first; rank <= last; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

BytesByKind read_bytes(const std::string& text) {
  BytesByKind bytes{};
  std::istringstream in{text};
  std::size_t kind = 0;
  for (std::string part; std::getline(in, part, ',');) bytes.at(kind++) = std::stoll(part);
  return bytes;
}

class RecordWriter {
 public:
  explicit RecordWriter(const std::filesystem::path& file) : out_{file} {}
  void write(const StepRecord& step) {
    for (const StepRecord::Ranks& kind : step.ranks) name_counts(kind.record);
    out_ << fmt::format("step {} {:.13g} {:.13g} {}\n", step.learned ? "learned" : "in-turn", step.loss,
                        step.gradient_norm, step.words);
    for (const StepRecord::Ranks& kind : step.ranks) write(kind);
  }

 private:
  void name_counts(const RankRecord& record) {
    for (const auto& [name, ignored] : record.counts) {
      const auto [row, added] = ids_.try_emplace(name, ids_.size());
      if (added) out_ << fmt::format("count {} {}\n", row->second, name);
    }
  }
  void write(const StepRecord::Ranks& kind) {
    const RankRecord& r = kind.record;
    out_ << fmt::format("ranks {} stage {} peak {}", ranks_text(kind.ranks), r.stage, fmt::join(r.peak, ","));
    for (std::size_t i = 0; i < r.at.size(); ++i) out_ << fmt::format(" at{} {}", i, fmt::join(r.at[i], ","));
    for (const auto& [name, value] : r.counts) out_ << fmt::format(" {} {}", ids_.at(name), value);
    out_ << "\n";
  }

  std::ofstream out_;
  std::map<std::string, std::size_t> ids_;
};

StepRecord::Ranks read_rank_line(std::istringstream& line, const std::map<std::string, std::string>& names) {
  StepRecord::Ranks out;
  std::string ranks, key, value;
  line >> ranks;
  out.ranks = read_ranks(ranks);
  while (line >> key >> value) {
    if (key == "stage") {
      out.record.stage = std::stoi(value);
    } else if (key == "peak") {
      out.record.peak = read_bytes(value);
    } else if (key.starts_with("at")) {
      out.record.at.at(std::stoul(key.substr(2))) = read_bytes(value);
    } else {
      out.record.counts[names.at(key)] = std::stod(value);
    }
  }
  return out;
}

StepRecord read_step_line(std::istringstream& line) {
  StepRecord step;
  std::string routing;
  line >> routing >> step.loss >> step.gradient_norm >> std::ws;
  step.learned = routing == "learned";
  std::getline(line, step.words);
  return step;
}

}  // namespace

StepRecord executed_step(const Scenario& sc, const std::string& words, bool learned,
                         const VerifyOptions& options, RankBackend& backend) {
  RunOptions run{.steps = 1, .routing = learned ? Routing::Learned : Routing::InTurn};
  run.ranks = options.ranks;
  run.make_device = options.make_device;
  const ExecutionReport report = run_steps(sc, run, backend);
  StepRecord out{.words = words,
                 .learned = learned,
                 .loss = report.steps.front().loss,
                 .gradient_norm = report.steps.front().gradient_norm,
                 .ranks = {}};
  for (const RankReport& rank : report.ranks) {
    RankRecord record = record_of(rank);
    const auto same = std::find_if(out.ranks.begin(), out.ranks.end(),
                                   [&](const auto& kind) { return kind.record == record; });
    if (same == out.ranks.end()) {
      out.ranks.push_back({.ranks = {rank.rank}, .record = std::move(record)});
    } else {
      same->ranks.push_back(rank.rank);
    }
  }
  return out;
}

Verification verify_record(const Scenario& sc, const StepRecord& record, const VerifyOptions& options,
                           RankBackend& backend) {
  Verification out{.scenario = sc, .ranks = sc.layout.world_size()};
  try {
    const StepRecord now = executed_step(sc, record.words, record.learned, options, backend);
    compare_steps(record, now, out);
    for (const StepRecord::Ranks& kind : record.ranks) compare_kind(kind, now, out);
  } catch (const RankFault& fault) {
    out.fault = fault.what();
  }
  return out;
}

void write_records(const std::filesystem::path& file, const std::vector<StepRecord>& records) {
  RecordWriter writer{file};
  for (const StepRecord& step : records) writer.write(step);
}

std::vector<StepRecord> read_records(const std::filesystem::path& file) {
  std::ifstream in{file};
  if (!in) throw std::runtime_error{"no " + file.string()};
  std::vector<StepRecord> records;
  std::map<std::string, std::string> names;
  for (std::string text; std::getline(in, text);) {
    std::istringstream line{text};
    std::string what, id;
    line >> what;
    if (what == "count") {
      line >> id >> std::ws;
      std::getline(line, names[id]);
    } else if (what == "step") {
      records.push_back(read_step_line(line));
    } else if (what == "ranks") {
      records.back().ranks.push_back(read_rank_line(line, names));
    }
  }
  return records;
}

}  // namespace hexaplan::validator
