#include "gui/models/cell.h"

#include <QLocale>
#include <cmath>

namespace hexaplan::gui {

QString cellText(const QVariant& value, CellUnit unit, ByteUnit bytes) {
  if (!value.isValid()) return {};
  switch (unit) {
    case CellUnit::Text:
      return value.toString();
    case CellUnit::Bytes:
      return bytesText(costmodel::Bytes{value.toDouble()}, bytes);
    case CellUnit::Seconds:
      return secondsText(costmodel::Seconds{value.toDouble()});
    case CellUnit::Percent:
      return percentText(value.toDouble());
    case CellUnit::Count:
      return countText(static_cast<std::int64_t>(std::llround(value.toDouble())));
    case CellUnit::Plain:
      return plainText(value.toDouble());
    case CellUnit::Dollars:
      return QStringLiteral("$") + QLocale().toString(value.toDouble(), 'f', 2);
  }
  return {};
}

QString exportText(const QVariant& value, CellUnit unit) {
  if (!value.isValid()) return {};
  if (unit == CellUnit::Text) return value.toString();
  const double number = unit == CellUnit::Percent ? value.toDouble() * 100 : value.toDouble();
  if (unit == CellUnit::Bytes || unit == CellUnit::Count) return QString::number(number, 'f', 0);
  return QString::number(number, 'g', 10);
}

QString baseUnit(CellUnit unit) {
  switch (unit) {
    case CellUnit::Bytes:
      return QStringLiteral("B");
    case CellUnit::Seconds:
      return QStringLiteral("s");
    case CellUnit::Percent:
      return QStringLiteral("%");
    case CellUnit::Dollars:
      return QStringLiteral("USD");
    default:
      return {};
  }
}

QVariant cellData(const QVariant& value, CellUnit unit, ByteUnit bytes, int role) {
  switch (role) {
    case Qt::DisplayRole:
      return cellText(value, unit, bytes);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(unit == CellUnit::Text ? Qt::AlignLeft : Qt::AlignRight) |
                                 Qt::AlignVCenter);
    case kSortRole:
      return value;
    case kExportRole:
      return exportText(value, unit);
    default:
      return {};
  }
}

QVariant headData(const QString& title, const QString& meaning, CellUnit unit, int role) {
  switch (role) {
    case Qt::DisplayRole:
      return title;
    case Qt::ToolTipRole:
      return meaning;
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(unit == CellUnit::Text ? Qt::AlignLeft : Qt::AlignRight) |
                                 Qt::AlignVCenter);
    case kExportHeadRole: {
      const QString base = baseUnit(unit);
      return base.isEmpty() ? title : QStringLiteral("%1 (%2)").arg(title, base);
    }
    default:
      return {};
  }
}

}  // namespace hexaplan::gui
