#include "gui/models/ledger_tree.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <tuple>

#include "costmodel/spec/model_spec.h"
#include "costmodel/step/estimate.h"
#include "gui/models/terms.h"

namespace hexaplan::gui {
namespace {

using costmodel::TensorEntry;

QString layerClassName(int index) {
  const costmodel::LayerClass layer = costmodel::layer_class_at(index);
  const auto translated = [](const char* text) { return QCoreApplication::translate("Ledger", text); };
  QString name;
  if (layer.moe) {
    name = layer.windowed ? translated(QT_TRANSLATE_NOOP("Ledger", "expert layers, sliding window"))
                          : translated(QT_TRANSLATE_NOOP("Ledger", "expert layers"));
  } else {
    name = layer.windowed ? translated(QT_TRANSLATE_NOOP("Ledger", "layers, sliding window"))
                          : translated(QT_TRANSLATE_NOOP("Ledger", "layers"));
  }
  if (layer.unrotated) name += translated(QT_TRANSLATE_NOOP("Ledger", ", without positions"));
  return name;
}

LedgerNode tensorNode(const TensorEntry& entry) {
  return {.name = QString::fromUtf8(entry.name.data(), static_cast<qsizetype>(entry.name.size())),
          .kind = entry.kind,
          .bytes = entry.size().value(),
          .formula = QString::fromUtf8(entry.formula.data(), static_cast<qsizetype>(entry.formula.size())),
          .dtype = nameOf(entry.dtype),
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

double sumOf(const LedgerNode& node) {
  if (node.children.empty()) return node.bytes;
  double sum = 0;
  for (const LedgerNode& child : node.children) sum += sumOf(child);
  return sum;
}

/// What the kind holds beyond its tensors: the allocator's for overhead; for the others what the schedule,
/// task by task, holds more or less than the tensors of one instant.
void appendRest(LedgerNode& kind, double rest) {
  constexpr double kRounding = 0.5;  // bytes; sums of doubles
  if (rest < kRounding && rest > -kRounding) return;
  const bool allocator = kind.kind == costmodel::TensorKind::Overhead;
  const char* name = allocator ? QT_TRANSLATE_NOOP("Ledger", "reserved by the allocator, not in use")
                               : QT_TRANSLATE_NOOP("Ledger", "by the order of the schedule");
  kind.children.push_back({.name = QCoreApplication::translate("Ledger", name),
                           .kind = kind.kind,
                           .bytes = rest,
                           .formula = QStringLiteral("M7")});
}

void sortAndSum(LedgerNode& node) {
  if (node.children.empty()) return;
  node.bytes = 0;
  for (LedgerNode& child : node.children) {
    sortAndSum(child);
    node.bytes += child.bytes;
  }
  std::stable_sort(node.children.begin(), node.children.end(),
                   [](const LedgerNode& a, const LedgerNode& b) { return a.bytes > b.bytes; });
}

}  // namespace

QString nameOf(costmodel::DType dtype) {
  static constexpr std::array<const char*, 11> kNames{"fp64",  "fp32",  "bf16", "fp16", "fp8", "fp4",
                                                      "int64", "int32", "int8", "nf4",  "bool"};
  return QString::fromLatin1(kNames[static_cast<std::size_t>(dtype)]);
}

LedgerNode ledgerTree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                      const costmodel::StageMemory& stage) {
  if (instant == stage.instant) return ledgerTree(ledger, instant, stage.on_device());
  costmodel::MemoryBreakdown device = costmodel::sum_alive(ledger, instant);
  device.overhead += stage.device - device.total();
  return ledgerTree(ledger, instant, device);
}

LedgerNode ledgerTree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                      const costmodel::MemoryBreakdown& device) {
  // By kind, then by layer class; class -1 stands for tensors of no layer.
  std::array<std::array<std::vector<LedgerNode>, costmodel::kLayerClasses + 1>, costmodel::kTensorKinds>
      groups;
  for (const TensorEntry& entry : ledger) {
    if ((entry.alive & instant) == 0 || entry.size().value() <= 0) continue;
    merge(groups[static_cast<std::size_t>(entry.kind)][static_cast<std::size_t>(entry.layer_class + 1)],
          tensorNode(entry));
  }
  LedgerNode root{.name = QCoreApplication::translate("Ledger", "all on the device")};
  for (std::size_t kind = 0; kind < groups.size(); ++kind) {
    const auto tensor_kind = static_cast<costmodel::TensorKind>(kind);
    LedgerNode node{.name = labelOf(tensor_kind), .kind = tensor_kind, .children = groups[kind][0]};
    for (int layer = 0; layer < costmodel::kLayerClasses; ++layer) {
      auto& tensors = groups[kind][static_cast<std::size_t>(layer) + 1];
      if (tensors.empty()) continue;
      node.children.push_back(
          {.name = layerClassName(layer), .kind = tensor_kind, .children = std::move(tensors)});
    }
    appendRest(node, device.of(tensor_kind).value() - sumOf(node));
    if (!node.children.empty()) root.children.push_back(std::move(node));
  }
  sortAndSum(root);
  return root;
}

}  // namespace hexaplan::gui
