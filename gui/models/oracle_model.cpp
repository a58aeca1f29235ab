#include "gui/models/oracle_model.h"

#include <array>

namespace hexaplan::gui {
namespace {

using report::OracleLine;
using report::OracleLineKind;

QVariant named(const OracleLine& line) {
  const int indent = line.kind == OracleLineKind::Head ? 0 : line.kind == OracleLineKind::Number ? 2 : 6;
  return QString{indent, ' '} + QString::fromStdString(line.what);
}

constexpr std::array kOracleColumns{
    Column<OracleLine>{{QT_TRANSLATE_NOOP("Oracle", "what"), CellUnit::Text,
                        QT_TRANSLATE_NOOP("Oracle",
                                          "Totals of rank 0, live tensors by instant, what a layer keeps, "
                                          "collectives.")},
                       named},
    Column<OracleLine>{{QT_TRANSLATE_NOOP("Oracle", "predicted"), CellUnit::Text,
                        QT_TRANSLATE_NOOP("Oracle", "By the cost model.")},
                       [](const OracleLine& l) -> QVariant { return QString::fromStdString(l.predicted); }},
    Column<OracleLine>{{QT_TRANSLATE_NOOP("Oracle", "PyTorch"), CellUnit::Text,
                        QT_TRANSLATE_NOOP("Oracle", "Seen in a step on tensors without data.")},
                       [](const OracleLine& l) -> QVariant { return QString::fromStdString(l.measured); }},
    Column<OracleLine>{{QT_TRANSLATE_NOOP("Oracle", "difference"), CellUnit::Text,
                        QT_TRANSLATE_NOOP("Oracle", "Predicted less PyTorch's.")},
                       [](const OracleLine& l) -> QVariant { return QString::fromStdString(l.difference); }},
    Column<OracleLine>{{QT_TRANSLATE_NOOP("Oracle", "share"), CellUnit::Text,
                        QT_TRANSLATE_NOOP("Oracle", "The difference as a share of PyTorch's.")},
                       [](const OracleLine& l) -> QVariant { return QString::fromStdString(l.share); }},
    Column<OracleLine>{{QT_TRANSLATE_NOOP("Oracle", "differs"), CellUnit::Text,
                        QT_TRANSLATE_NOOP("Oracle", "By more than it may.")},
                       [](const OracleLine& l) -> QVariant {
                         return l.differs ? QCoreApplication::translate("Oracle", "yes") : QString{};
                       }},
};

}  // namespace

OracleModel::OracleModel(QObject* parent) : ColumnTableModel(kOracleColumns, "Oracle", parent) {}

}  // namespace hexaplan::gui
