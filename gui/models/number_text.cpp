#include "gui/models/number_text.h"

#include <QLocale>
#include <algorithm>
#include <cmath>

#include "costmodel/units/format_units.h"

namespace hexaplan::gui {

namespace {

ByteUnit& byteUnitInUse() {
  static ByteUnit unit = ByteUnit::Binary;
  return unit;
}

}  // namespace

ByteUnit shownByteUnit() {
  return byteUnitInUse();
}

void setShownByteUnit(ByteUnit unit) {
  byteUnitInUse() = unit;
}

QString localized(const QString& text) {
  const QLocale locale;
  QString out;
  out.reserve(text.size() + 2);
  for (qsizetype i = 0; i < text.size(); ++i) {
    const QChar c = text[i];
    if (c == u'-' && i == 0) {
      out += QChar(0x2212);  // the minus that differences have
    } else if (c == u'.') {
      out += locale.decimalPoint();
    } else if (c == u',') {
      out += locale.groupSeparator();
    } else if (c == u'u' && i > 0 && text[i - 1] == u' ' && i + 1 < text.size() && text[i + 1] == u's') {
      out += QChar(0x00b5);
    } else {
      out += c;
    }
  }
  return out;
}

QString bytesText(costmodel::Bytes bytes, ByteUnit unit) {
  return localized(QString::fromStdString(unit == ByteUnit::Binary ? costmodel::format_binary(bytes)
                                                                   : costmodel::format_decimal(bytes)));
}

QString secondsText(costmodel::Seconds time) {
  return localized(QString::fromStdString(costmodel::format_duration(time)));
}

QString percentText(double share) {
  return localized(QString::fromStdString(costmodel::format_percent(share)));
}

QString countText(std::int64_t count) {
  return localized(QString::fromStdString(costmodel::format_count(count)));
}

QString plainText(double value) {
  return QLocale().toString(value, 'g', 4);
}

QString utf8Text(std::string_view utf8) {
  return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

bool showsNothing(const QString& number) {
  return std::none_of(number.begin(), number.end(), [](QChar c) { return c.digitValue() > 0; });
}

QString signedText(double difference, const QString& magnitude) {
  if (showsNothing(magnitude)) return magnitude;
  return (difference > 0 ? QStringLiteral("+") : QStringLiteral("−")) + magnitude;
}

QString changeText(double before, double now) {
  if (before <= 0.0) return {};
  const double change = now / before - 1.0;
  return signedText(change, percentText(std::abs(change)));
}

}  // namespace hexaplan::gui
