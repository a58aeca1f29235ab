#include "gui/plot/unit_text.h"

namespace hexaplan::gui {

AxisUnit inBytesOf(AxisUnit unit, ByteUnit bytes) {
  if (unit != AxisUnit::BinaryBytes && unit != AxisUnit::DecimalBytes) return unit;
  return bytes == ByteUnit::Binary ? AxisUnit::BinaryBytes : AxisUnit::DecimalBytes;
}

QString unitText(double value, AxisUnit unit) {
  switch (unit) {
    case AxisUnit::BinaryBytes:
      return bytesText(costmodel::Bytes{value}, ByteUnit::Binary);
    case AxisUnit::DecimalBytes:
      return bytesText(costmodel::Bytes{value}, ByteUnit::Decimal);
    case AxisUnit::Seconds:
      return secondsText(costmodel::Seconds{value});
    case AxisUnit::Percent:
      return percentText(value);
    case AxisUnit::Plain:
      break;
  }
  return plainText(value);
}

}  // namespace hexaplan::gui
