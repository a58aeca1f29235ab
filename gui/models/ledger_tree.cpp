#include "gui/models/ledger_tree.h"

#include <QCoreApplication>

#include "costmodel/step/estimate.h"
#include "gui/models/terms.h"
#include "report/ledger_tree.h"

namespace hexaplan::gui {
namespace {

constexpr const char* kContext = "Ledger";
constexpr const char* kUnrotated = QT_TRANSLATE_NOOP("Ledger", ", without positions");
/// The phrases of report::ledger_tree, for the translators.
[[maybe_unused]] constexpr const char* kPhrases[] = {
    QT_TRANSLATE_NOOP("Ledger", "all on the device"),
    QT_TRANSLATE_NOOP("Ledger", "expert layers, sliding window"),
    QT_TRANSLATE_NOOP("Ledger", "expert layers"),
    QT_TRANSLATE_NOOP("Ledger", "layers, sliding window"),
    QT_TRANSLATE_NOOP("Ledger", "layers"),
    QT_TRANSLATE_NOOP("Ledger", "multi-token-prediction modules"),
    QT_TRANSLATE_NOOP("Ledger", "reserved by the allocator, not in use"),
    QT_TRANSLATE_NOOP("Ledger", "by the order of the schedule"),
};

QString translatedPhrase(std::string name) {
  const bool unrotated = name.ends_with(kUnrotated);
  if (unrotated) name.resize(name.size() - std::string_view{kUnrotated}.size());
  const QString base = QCoreApplication::translate(kContext, name.c_str());
  return unrotated ? base + QCoreApplication::translate(kContext, kUnrotated) : base;
}

/// `depth`: 1 for kinds, whose names are those of every chart.
LedgerNode inTheUsersLanguage(const report::LedgerNode& node, int depth) {
  LedgerNode out{.name = node.is_tensor ? QString::fromStdString(node.name)
                         : depth == 1   ? labelOf(node.kind)
                                        : translatedPhrase(node.name),
                 .kind = node.kind,
                 .bytes = node.bytes,
                 .formula = QString::fromStdString(node.formula),
                 .dtype = node.is_tensor ? nameOf(node.dtype) : QString{},
                 .elements = node.elements,
                 .count = node.count};
  for (const report::LedgerNode& child : node.children)
    out.children.push_back(inTheUsersLanguage(child, depth + 1));
  return out;
}

}  // namespace

QString nameOf(costmodel::DType dtype) {
  const std::string_view name = costmodel::name_of(dtype);
  return QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
}

LedgerNode ledgerTree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                      const costmodel::StageMemory& stage) {
  return inTheUsersLanguage(report::ledger_tree(ledger, instant, stage), 0);
}

LedgerNode ledgerTree(const costmodel::TensorLedger& ledger, costmodel::Instant instant,
                      const costmodel::MemoryBreakdown& device) {
  return inTheUsersLanguage(report::ledger_tree(ledger, instant, device), 0);
}

}  // namespace hexaplan::gui
