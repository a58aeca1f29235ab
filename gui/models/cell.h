#pragma once
#include <QString>
#include <QVariant>
#include <cstdint>

#include "gui/models/number_text.h"

namespace hexaplan::gui {

/// What a column's numbers are; decides how they are written for the eye and in files.
enum class CellUnit : std::uint8_t { Text, Bytes, Seconds, Percent, Count, Plain, Dollars };

/// Head of a column: what it is called, what its numbers are, what it means. Texts are to be translated in
/// the context of the model.
struct ColumnHead {
  const char* title;
  CellUnit unit;
  const char* meaning;
};

/// Roles beside Qt's that every model of this room answers.
enum CellRole : int {
  kSortRole = Qt::UserRole,            // the bare number or text: what proxies sort by
  kExportRole = Qt::UserRole + 1,      // text for files: exact, C locale, no unit (it stands in the head)
  kKindRole = Qt::UserRole + 2,        // costmodel::TensorKind as int, where a row has one
  kExportHeadRole = Qt::UserRole + 3,  // of headers: "peak memory (B)"
};

/// `value` (a number in base units, or a text) for the eye: "79.2 GiB". Invalid values are empty.
[[nodiscard]] QString cellText(const QVariant& value, CellUnit unit, ByteUnit bytes);
/// The same for files: "85040000000".
[[nodiscard]] QString exportText(const QVariant& value, CellUnit unit);
/// The base unit that files name in their heads: "B", "s", "%"; empty for texts, counts and plain numbers.
[[nodiscard]] QString baseUnit(CellUnit unit);

/// Answer of a model to `role` for a cell with this bare value.
[[nodiscard]] QVariant cellData(const QVariant& value, CellUnit unit, ByteUnit bytes, int role);
/// Answer of a model to `role` for a column's head; `title` and `meaning` already translated.
[[nodiscard]] QVariant headData(const QString& title, const QString& meaning, CellUnit unit, int role);

}  // namespace hexaplan::gui
