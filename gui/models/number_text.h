#pragma once
#include <QString>
#include <cstdint>
#include <string_view>

#include "costmodel/units/quantity.h"

namespace hexaplan::gui {

// Numbers for the eye: the unit always written out, decimal point and digit groups as the user's locale has
// them. What goes into files stays in the C locale (costmodel/units/format_units.h).

/// GiB = 2^30 bytes or GB = 10^9 bytes.
enum class ByteUnit : std::uint8_t { Binary, Decimal };

/// In which the window shows bytes; models and charts that are made take it over.
[[nodiscard]] ByteUnit shownByteUnit();
void setShownByteUnit(ByteUnit unit);

/// "79.2 GiB" or "85 GB".
[[nodiscard]] QString bytesText(costmodel::Bytes bytes, ByteUnit unit = shownByteUnit());
/// "4.56 ms", "1.23 s", "3 h 20 min".
[[nodiscard]] QString secondsText(costmodel::Seconds time);
/// "41.2 %".
[[nodiscard]] QString percentText(double share);
/// "16,384".
[[nodiscard]] QString countText(std::int64_t count);
/// Four significant digits, no unit.
[[nodiscard]] QString plainText(double value);

/// What the other rooms write, in UTF-8.
[[nodiscard]] QString utf8Text(std::string_view utf8);

/// Whether every digit is 0: "0.0 %", "0 B".
[[nodiscard]] bool showsNothing(const QString& number);
/// A difference has its sign: "+2.4 GiB", "−310 ms"; what rounds to nothing has none: "0.0 %".
[[nodiscard]] QString signedText(double difference, const QString& magnitude);
/// "+12.5 %", "−3 %" of `now` against `before`; empty unless `before` is positive.
[[nodiscard]] QString changeText(double before, double now);

/// Swaps '.' and ',' of a C-locale text for those of the default locale, and writes "us" as "µs".
[[nodiscard]] QString localized(const QString& text);

}  // namespace hexaplan::gui
