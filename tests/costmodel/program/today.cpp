#include "tests/costmodel/program/today.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/memory_kinds.h"
#include "costmodel/program/count.h"
#include "costmodel/program/fold.h"
#include "costmodel/program/layer_program.h"
#include "costmodel/program/replay_memory.h"
#include "tests/costmodel/program/hand_written_operations.h"
#include "tests/costmodel/program/hand_written_replay.h"
#include "tests/costmodel/program/hand_written_saved.h"

namespace hexaplan::costmodel::program {
namespace {

/// Sums by operation, pass and what else tells rows apart.
using Totals = std::map<std::string, double>;

std::string key(std::string_view name, Pass pass, bool recomputed, std::string_view what) {
  return fmt::format("{} pass {}{} {}", name, static_cast<int>(pass), recomputed ? " again" : "", what);
}
std::string message_key(std::string_view name, Pass pass, bool recomputed, CollectiveKind kind, Group group) {
  return key(name, pass, recomputed,
             fmt::format("collective {} group {}", static_cast<int>(kind), static_cast<int>(group)));
}
void add_message(Totals& totals, const std::string& row, double payload, double times) {
  totals[row + " messages"] += times;
  totals[row + " bytes"] += payload * times;
}

Totals totals_of(const std::vector<Operation>& operations) {
  Totals out;
  for (const Operation& op : operations) {
    for (const bool recomputed : {false, true}) {
      if (recomputed && !(op.recomputed && op.pass == Pass::Forward)) continue;
      if (op.kind == OpKind::Collective) {
        add_message(out, message_key(op.name, op.pass, recomputed, op.collective, op.group),
                    op.payload.value(), op.count);
      } else if (op.flops.value() > 0) {
        out[key(op.name, op.pass, recomputed, "FLOPs")] += op.flops.value();
      }
    }
  }
  return out;
}

Totals totals_of(const Program& p, const Sizes& sizes, bool windowed) {
  Totals out;
  const Counts counts = count(p, sizes, windowed);
  for (std::size_t s = 0; s < counts.sites.size(); ++s) {
    for (std::size_t pass = 0; pass < 3; ++pass) {
      const double flops = counts.sites[s].passes[pass].value();
      if (flops > 0) out[key(kSites[s].name, static_cast<Pass>(pass), false, "FLOPs")] += flops;
    }
    const double recomputed = counts.sites[s].recomputed.value();
    if (recomputed > 0) out[key(kSites[s].name, Pass::Forward, true, "FLOPs")] += recomputed;
  }
  for (const CountedMessage& m : counts.messages) {
    add_message(out, message_key(row_of(m.site).name, m.pass, m.recomputed, m.kind, m.group),
                m.payload.value(), m.times);
  }
  return out;
}

std::string first_difference(const Totals& program, const Totals& today) {
  Totals all = program;
  for (const auto& [row, value] : today) all.try_emplace(row, 0);
  for (const auto& [row, ignored] : all) {
    const double a = program.contains(row) ? program.at(row) : 0, b = today.contains(row) ? today.at(row) : 0;
    if (std::abs(a - b) > 1e-12 * std::abs(b)) return fmt::format("{}: program {}, today {}", row, a, b);
  }
  return {};
}

Program layer_of(const Scenario& sc, LayerClass kind, std::span<const PassRow> passes) {
  const RecomputeMode mode = sc.recipe.recompute.mode;
  const bool whole = mode == RecomputeMode::Full || mode == RecomputeMode::Layers;
  return compile(forward_layer(sc.model, kind), of_layer(techniques_of(sc, whole), kind), passes);
}

}  // namespace

std::string layer_difference(const Scenario& sc, LayerClass kind, std::span<const PassRow> passes) {
  const Sizes sizes = sizes_of(sc, local_dims(sc));
  return first_difference(totals_of(layer_of(sc, kind, passes), sizes, kind.windowed),
                          totals_of(hand_written_layer(sc, kind)));
}

std::string end_difference(const Scenario& sc, std::span<const PassRow> passes) {
  const Sizes sizes = sizes_of(sc, local_dims(sc));
  const Techniques t = techniques_of(sc, false);
  const Program head = compile(forward_head(sc.model, fuses_cross_entropy(sc)), t, passes);
  const std::string of_head =
      first_difference(totals_of(head, sizes, false), totals_of(hand_written_head(sc)));
  if (!of_head.empty()) return of_head;
  const Program embedding = compile(forward_embedding(sc.model), t, passes);
  return first_difference(totals_of(embedding, sizes, false), totals_of(hand_written_embedding(sc)));
}

std::string kept_difference(const Scenario& sc, LayerClass kind, std::span<const PassRow> passes,
                            double forgotten) {
  const LocalDims dims = local_dims(sc);
  const RecomputeMode mode = sc.recipe.recompute.mode;
  TensorLedger saved;
  if (mode == RecomputeMode::Full || mode == RecomputeMode::Layers) {
    append_checkpoint_entry(sc, dims, kind, 1, saved);
  } else {
    append_hand_written_saved(sc, dims, kind, 1, saved);
  }
  double today = forgotten;
  for (const TensorEntry& entry : saved) today += entry.size().value();
  const Program layer = layer_of(sc, kind, passes);
  const Sizes sizes = sizes_of(sc, dims);
  const double mine = Footprint{layer}.kept_bytes(sizes).value();
  if (mine == today) return {};
  const auto tokens = static_cast<double>(dims.tokens);
  std::string rows;
  for (const KeptValue& value : Footprint{layer}.kept(sizes))
    rows += fmt::format("\n  program {} {}", name_of(value.tensor), value.bytes.value() / tokens);
  for (const TensorEntry& entry : saved)
    rows += fmt::format("\n  today {} {}", entry.name, entry.size().value() / tokens);
  return fmt::format("kept bytes: program {}, today {} ({} per token){}", mine, today,
                     (mine - today) / tokens, rows);
}

std::string replay_difference(const Scenario& sc, std::span<const PassRow> passes) {
  const StepReplay replay{sc, passes};
  for (int stage = 0; stage < sc.layout.pp; ++stage) {
    const ReplayedMemory mine = replay.stage(stage), today = hand_written_replay(sc, stage);
    if (mine.peak_instant != today.peak_instant)
      return fmt::format("stage {} peaks at {}, today at {}", stage, name_of(mine.peak_instant),
                         name_of(today.peak_instant));
    for (std::size_t i = 0; i < kInstants; ++i) {
      for (const MemoryKind& kind : kMemoryKinds) {
        const double a = mine.at[i].of(kind.kind).value(), b = today.at[i].of(kind.kind).value();
        if (a == b) continue;
        return fmt::format("stage {} at {}, {}: program {} of {}, today {} of {}", stage,
                           name_of(instant_at(static_cast<int>(i))), kind.name, a, mine.at[i].total().value(),
                           b, today.at[i].total().value());
      }
    }
  }
  return {};
}

constexpr std::size_t kPassInstants = 4;  // kForward to kBackward

std::string task_difference(const Scenario& sc) {
  const StepReplay replay{sc};
  for (int stage = 0; stage < sc.layout.pp; ++stage) {
    const std::vector<TaskMemory> mine = replay.tasks(stage), today = hand_written_tasks(sc, stage);
    if (mine.size() != today.size())
      return fmt::format("stage {} has {} tasks, today {}", stage, mine.size(), today.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const auto in_passes = [](const TaskMemory& task) { return std::span{task.at}.first<kPassInstants>(); };
      const bool same_peaks = std::ranges::equal(in_passes(mine[i]), in_passes(today[i]));
      if (same_peaks && mine[i].after == today[i].after) continue;
      return fmt::format("stage {} task {}: after it {}, today {}", stage, i, mine[i].after.total().value(),
                         today[i].after.total().value());
    }
  }
  return {};
}

}  // namespace hexaplan::costmodel::program
