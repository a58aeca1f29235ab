#include "report/ledger_tree.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/spec/model_spec.h"

namespace hexaplan::report {
namespace {

using costmodel::TensorEntry;

std::string layer_class_name(int index) {
  if (index == costmodel::kMtpClass) return "multi-token-prediction modules";
  const costmodel::LayerClass layer = costmodel::own_class_at(index);
  std::string name = layer.moe ? "expert layers" : layer.recurrent ? "recurrent layers" : "layers";
  if (layer.branches == costmodel::Branches::Mlp) name = layer.moe ? "experts alone" : "MLPs alone";
  if (layer.branches == costmodel::Branches::Mixer)
    name = layer.recurrent ? "recurrent mixers alone" : "attention alone";
  if (layer.recurrent && layer.moe) name = "recurrent layers with experts";
  if (layer.windowed) name += ", sliding window";
  if (layer.unrotated) name += ", without positions";
  return name;
}

LedgerNode tensor_node(const TensorEntry& entry) {
  return {.name = std::string{entry.name},
          .kind = entry.kind,
          .bytes = entry.size().value(),
          .children = {},
          .is_tensor = true,
          .formula = std::string{entry.formula},
          .dtype = entry.dtype,
          .elements = entry.elements,
          .count = entry.count};
}

/// One node for tensors that differ in their count only.
void merge(std::vector<LedgerNode>& siblings, const LedgerNode& tensor) {
  const auto same = std::find_if(siblings.begin(), siblings.end(), [&](const LedgerNode& other) {
    return std::tie(other.name, other.formula, other.dtype, other.elements) ==
           std::tie(tensor.name, tensor.formula, tensor.dtype, tensor.elements);
  });
  if (same == siblings.end()) return siblings.push_back(tensor);
  same->bytes += tensor.bytes;
  same->count += tensor.count;
}

double sum_of(const LedgerNode& node) {
  if (node.children.empty()) return node.bytes;
  double sum = 0;
  for (const LedgerNode& child : node.children) sum += sum_of(child);
  return sum;
}

/// What the kind holds beyond its tensors: the allocator's where it is cached; for the others what the
/// schedule, task by task, holds more or less than the tensors of one instant.
void append_rest(LedgerNode& kind, double rest) {
  constexpr double kRounding = 0.5;  // bytes; sums of doubles
  if (rest < kRounding && rest > -kRounding) return;
  const bool allocator = kind.kind == costmodel::TensorKind::Cached;
  kind.children.push_back(
      {.name = allocator ? "reserved by the allocator, not in use" : "by the order of the schedule",
       .kind = kind.kind,
       .bytes = rest,
       .children = {},
       .formula = "M7"});
}

void sort_and_sum(LedgerNode& node) {
  if (node.children.empty()) return;
  node.bytes = 0;
  for (LedgerNode& child : node.children) {
    sort_and_sum(child);
    node.bytes += child.bytes;
  }
  std::stable_sort(node.children.begin(), node.children.end(),
                   [](const LedgerNode& a, const LedgerNode& b) { return a.bytes > b.bytes; });
}

}  // namespace

LedgerNode ledger_tree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                       const costmodel::StageMemory& stage) {
  if (instant == stage.instant) return ledger_tree(ledger, instant, stage.on_device());
  costmodel::MemoryBreakdown device = costmodel::sum_alive(ledger, instant);
  device.cached += stage.device - device.total();
  return ledger_tree(ledger, instant, device);
}

LedgerNode ledger_tree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                       const costmodel::MemoryBreakdown& device) {
  // By kind, then by layer class; class -1 stands for tensors of no layer.
  std::array<std::array<std::vector<LedgerNode>, costmodel::kLayerClasses + 1>, costmodel::kTensorKinds>
      groups;
  for (const TensorEntry& entry : ledger) {
    if ((entry.alive & instant) == 0 || entry.size().value() <= 0) continue;
    merge(groups[static_cast<std::size_t>(entry.kind)][static_cast<std::size_t>(entry.layer_class + 1)],
          tensor_node(entry));
  }
  LedgerNode root{.name = "all on the device"};
  for (std::size_t kind = 0; kind < groups.size(); ++kind) {
    const auto tensor_kind = static_cast<costmodel::TensorKind>(kind);
    LedgerNode node{.name = std::string{costmodel::name_of(tensor_kind)},
                    .kind = tensor_kind,
                    .children = groups[kind][0]};
    for (int layer = 0; layer < costmodel::kLayerClasses; ++layer) {
      auto& tensors = groups[kind][static_cast<std::size_t>(layer) + 1];
      if (tensors.empty()) continue;
      node.children.push_back(
          {.name = layer_class_name(layer), .kind = tensor_kind, .children = std::move(tensors)});
    }
    append_rest(node, device.of(tensor_kind).value() - sum_of(node));
    if (!node.children.empty()) root.children.push_back(std::move(node));
  }
  sort_and_sum(root);
  return root;
}

}  // namespace hexaplan::report
