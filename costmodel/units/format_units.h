#pragma once
#include <cstdint>
#include <string>

#include "costmodel/units/quantity.h"

namespace hexaplan::costmodel {

// Numbers for people: three significant digits unless said otherwise, the unit always written out, the same
// in every locale. Infinities and NaN print as "inf" and "nan" with the base unit.

/// Binary: "512 B", "1.5 KiB", "79.2 GiB", "1.21 TiB".
[[nodiscard]] std::string format_binary(Bytes bytes);
/// Decimal: "512 B", "1.5 kB", "85 GB".
[[nodiscard]] std::string format_decimal(Bytes bytes);
/// "3.35 TB/s", "450 GB/s".
[[nodiscard]] std::string format_rate(BytesPerSecond rate);
/// "989 TFLOP/s", "2.25 PFLOP/s".
[[nodiscard]] std::string format_rate(FlopsPerSecond rate);
/// "1.2 PFLOP".
[[nodiscard]] std::string format_flops(Flops flops);
/// "850 ns", "12.3 us", "4.56 ms", "1.23 s", "2 min 5 s", "3 h 20 min", "12 d 4 h": the largest fitting pair
/// from a minute on.
[[nodiscard]] std::string format_duration(Seconds time);

/// "16,384", "-1,024".
[[nodiscard]] std::string format_count(std::int64_t count);
/// "8.03 B", "405 B", "137 M", "15 T": parameters and tokens, decimal, no unit. Below 10,000 as it is.
[[nodiscard]] std::string format_short(double count);
/// "41.2 %", one decimal.
[[nodiscard]] std::string format_percent(double share);
/// "+12.3 %", "-0.4 %"; what rounds to nothing has no sign: "0.0 %".
[[nodiscard]] std::string format_signed_percent(double share);

}  // namespace hexaplan::costmodel
