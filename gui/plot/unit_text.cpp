#include "gui/plot/unit_text.h"

#include "gui/models/number_text.h"

namespace hexaplan::gui {

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
