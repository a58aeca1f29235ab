#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "charts/estimate_svg.h"
#include "costmodel/memory/memory_kinds.h"
#include "costmodel/units/format_units.h"
#include "costmodel/units/whole_parts.h"
#include "report/html.h"
#include "report/ledger_tree.h"
#include "report/plan_page.h"

namespace hexaplan::report {

using costmodel::Bytes;
using costmodel::Estimate;
using costmodel::format_binary;
using costmodel::format_count;
using costmodel::StageMemory;

namespace {

constexpr std::size_t kStagesShown = 12;

/// Stages that a page shows, and the others, which unfold.
struct StageChoice {
  std::vector<std::size_t> shown, folded;
};

/// All, or the first ones, the last and the one that binds.
StageChoice choose_stages(const Estimate& e) {
  StageChoice choice;
  for (std::size_t i = 0; i < e.stages.size(); ++i) {
    const bool one_of_these =
        i + 2 < kStagesShown || i + 1 == e.stages.size() || static_cast<int>(i) == e.peak_stage;
    (e.stages.size() <= kStagesShown || one_of_these ? choice.shown : choice.folded).push_back(i);
  }
  return choice;
}

/// `part` of the stages shown, then that of the others, folded.
template <class Part>
std::string by_stage(const Estimate& e, const Part& part) {
  const StageChoice choice = choose_stages(e);
  std::string html = part(choice.shown);
  if (choice.folded.empty()) return html;
  return html + unfolding({fmt::format("{} more {}", choice.folded.size(),
                                       choice.folded.size() == 1 ? "stage" : "stages")},
                          part(choice.folded));
}

std::string gib(Bytes bytes) {
  constexpr double kGib = 1073741824.0;
  return fmt::format("{:.2f}", bytes.value() / kGib);
}

std::int64_t whole(double bytes) {
  return std::llround(bytes);
}

/// Bytes of a node's children as they are printed: sizes by a framework's rule may be fractions of a byte.
std::vector<std::int64_t> whole_bytes(const LedgerNode& node, std::int64_t total) {
  std::vector<double> parts;
  for (const LedgerNode& child : node.children) parts.push_back(child.bytes);
  return costmodel::whole_parts(parts, total);
}

std::string bytes_words(std::int64_t bytes, std::int64_t device) {
  return fmt::format("{} <span class=\"soft bytes\">{} B, {}</span>",
                     format_binary(Bytes{static_cast<double>(bytes)}), format_count(bytes),
                     costmodel::format_percent(static_cast<double>(bytes) / static_cast<double>(device)));
}

Markup formula_link(const std::string& anchor) {
  if (anchor.empty()) return {};
  return {fmt::format("<a href=\"#{0}\">{0}</a>", Cell{anchor}.html())};
}

/// The leaves of a node as rows.
void append_leaf(const LedgerNode& leaf, std::int64_t bytes, Table& table) {
  table.rows.push_back({leaf.name, leaf.is_tensor ? std::string{name_of(leaf.dtype)} : std::string{},
                        leaf.is_tensor ? format_count(whole(leaf.elements)) : std::string{},
                        leaf.is_tensor ? fmt::format("{:.6g}", leaf.count) : std::string{},
                        format_binary(Bytes{static_cast<double>(bytes)}), format_count(bytes),
                        formula_link(leaf.formula)});
}

/// Depth: kinds, layer classes, tensors.
std::string node_html(const LedgerNode& node, std::int64_t total,
                      std::int64_t device) {  // NOLINT(misc-no-recursion)
  Table leaves{.heads = {"tensor", "type", "elements", "× copies", "size", "bytes", "formula"}, .rows = {}};
  std::string html;
  const std::vector<std::int64_t> parts = whole_bytes(node, total);
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const LedgerNode& child = node.children[i];
    if (child.children.empty()) {
      append_leaf(child, parts[i], leaves);
    } else {
      html += unfolding({fmt::format("{}: {}", Cell{child.name}.html(), bytes_words(parts[i], device))},
                        node_html(child, parts[i], device));
    }
  }
  return leaves.rows.empty() ? html : html + to_html(leaves);
}

/// The table of these stages.
std::string memory_table(const Estimate& e, const std::vector<std::size_t>& stages) {
  Table table{.heads = {"stage", "on the device", "cannot do without", fmt::format("of {}", gib(e.capacity))},
              .rows = {}};
  for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds) table.heads.emplace_back(kind.name);
  for (const std::size_t i : stages) {
    const StageMemory& stage = e.stages[i];
    const bool fullest = static_cast<int>(i) == e.peak_stage;
    const costmodel::MemoryBreakdown kinds = stage.on_device();
    std::vector<Cell> row{fmt::format("{}{}", i, fullest ? ", fullest" : ""), gib(stage.device),
                          gib(stage.needed),
                          marked(costmodel::format_percent(stage.needed / e.capacity),
                                 stage.needed <= e.capacity ? "good" : "bad")};
    for (const costmodel::MemoryKind& kind : costmodel::kMemoryKinds)
      row.emplace_back(gib(kinds.of(kind.kind)));
    table.rows.push_back(std::move(row));
  }
  return to_html(table);
}

std::string stage_ledger(const Answer& answer, std::size_t index) {
  const Estimate& e = answer.estimate;
  const StageMemory& stage = e.stages[index];
  const LedgerNode tree =
      ledger_tree(costmodel::build_ledger(answer.resolved.scenario, stage.stage), stage.instant, stage);
  const std::int64_t device = whole(stage.device.value());
  return unfolding({fmt::format("<b>Stage {}</b>: {} at its peak ({})", stage.stage,
                                bytes_words(device, device), costmodel::name_of(stage.instant))},
                   node_html(tree, device, device), static_cast<int>(index) == e.peak_stage);
}

}  // namespace

std::string memory_part(const Answer& answer) {
  const Estimate& e = answer.estimate;
  return picture(charts::stage_memory_svg(e, "Memory per GPU by stage, at its peak", charts::Ground::Page)) +
         "<p class=\"soft\">GiB (2<sup>30</sup> bytes) per GPU. On the device: what the driver's tools show, "
         "with what "
         "the allocator holds and could give back.</p>\n" +
         by_stage(e, [&](const std::vector<std::size_t>& stages) { return memory_table(e, stages); });
}

std::string ledger_part(const Answer& answer) {
  return by_stage(answer.estimate, [&](const std::vector<std::size_t>& stages) {
    std::string html;
    for (const std::size_t i : stages) html += stage_ledger(answer, i);
    return html;
  });
}

}  // namespace hexaplan::report
