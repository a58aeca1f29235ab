// The arithmetic of PTX (PTX ISA 9.0, chapter 9.7), for the instructions that nvcc makes of the kernels.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "tests/support/ptx/instruction.h"
#include "validator/executor/device/bf16.h"

namespace hexaplan::tests::ptx {
namespace {

// NOLINTBEGIN(readability-identifier-naming): PTX's names of types
using u8 = std::uint8_t;
using s8 = std::int8_t;
using u16 = std::uint16_t;
using s16 = std::int16_t;
using u32 = std::uint32_t;
using s32 = std::int32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;
using f32 = float;
using f64 = double;
using pred = bool;
// NOLINTEND(readability-identifier-naming)

template <class T>
constexpr const char* kName = nullptr;
template <>
constexpr const char* kName<u8> = "u8";
template <>
constexpr const char* kName<s8> = "s8";
template <>
constexpr const char* kName<u16> = "u16";
template <>
constexpr const char* kName<s16> = "s16";
template <>
constexpr const char* kName<u32> = "u32";
template <>
constexpr const char* kName<s32> = "s32";
template <>
constexpr const char* kName<u64> = "u64";
template <>
constexpr const char* kName<s64> = "s64";
template <>
constexpr const char* kName<f32> = "f32";
template <>
constexpr const char* kName<f64> = "f64";

// --- what one lane computes ---

/// Integers wrap around.
template <class T, class Function>
T wrapping(T a, T b, Function f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    // 16 bits would be promoted to int, which overflows.
    return static_cast<T>(
        static_cast<U>(f(static_cast<u64>(static_cast<U>(a)), static_cast<u64>(static_cast<U>(b)))));
  } else {
    return f(a, b);
  }
}
struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct MultiplyAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(Multiply{}(a, b), c);
  }
};
/// The upper half of the product.
struct MultiplyHigh {
  template <class T>
  T operator()(T a, T b) const {
    // NOLINTNEXTLINE(*-pedantic)
    __extension__ using Twice = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((static_cast<Twice>(a) * static_cast<Twice>(b)) >> (8 * sizeof(T)));
  }
};
template <class Wide>
struct MultiplyWide {
  template <class T>
  Wide operator()(T a, T b) const {
    return static_cast<Wide>(static_cast<Wide>(a) * static_cast<Wide>(b));
  }
  template <class T>
  Wide operator()(T a, T b, Wide c) const {
    return Add{}((*this)(a, b), c);
  }
};
/// By zero: all bits set, as GPUs answer (PTX leaves it open).
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return static_cast<T>(~T{0});
      if constexpr (std::is_signed_v<T>)
        if (b == -1) return Subtract{}(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return static_cast<T>(a % b);
  }
};
/// Of not-a-numbers the other one.
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return std::fmin(a, b);
    return a < b ? a : b;
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return std::fmax(a, b);
    return a > b ? a : b;
  }
};
struct Fused {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
/// a·b + c rounded towards −∞. In double the product is exact.
struct FusedDown {
  f32 operator()(f32 a, f32 b, f32 c) const {
    const f64 exact = static_cast<f64>(a) * static_cast<f64>(b) + static_cast<f64>(c);
    const auto near = static_cast<f32>(exact);
    return static_cast<f64>(near) > exact ? std::nextafter(near, -std::numeric_limits<f32>::infinity())
                                          : near;
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_same_v<T, bool>)
      return !a;
    else
      return static_cast<T>(~a);
  }
};
/// Shifts beyond the width give what is shifted in.
struct ShiftLeft {
  template <class T>
  T operator()(T a, u32 by) const {
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<u64>(a) << by);
  }
};
struct ShiftRight {
  template <class T>
  T operator()(T a, u32 by) const {
    constexpr u32 kBits = 8 * sizeof(T);
    if (by >= kBits) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
    return static_cast<T>(a >> by);
  }
};
struct Negate {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return Subtract{}(T{0}, a);
    else
      return -a;
  }
};
struct Absolute {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return a < 0 ? Negate{}(a) : a;
    else
      return std::fabs(a);
  }
};
/// b with the sign of a.
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};
struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return 1 / a;
  }
};
/// div.approx, as the PTX manual defines it: a times 1/b, and 0 beyond 2^126, where 1/b has no normal number.
struct DivideApproximately {
  f32 operator()(f32 a, f32 b) const {
    if (std::isfinite(b) && std::abs(b) > 0x1p126F)
      return std::isfinite(a) ? std::copysign(0.0F, a * b) : a - a;
    return a * (1 / b);
  }
};
struct ReciprocalRoot {
  template <class T>
  T operator()(T a) const {
    return 1 / std::sqrt(a);
  }
};
/// .ftz: subnormal numbers are zeros of their sign.
f32 flushed(f32 x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}
template <class Function>
struct Flushing {
  f32 operator()(f32 a) const { return flushed(Function{}(flushed(a))); }
  f32 operator()(f32 a, f32 b) const { return flushed(Function{}(flushed(a), flushed(b))); }
};
struct PowerOfTwo {
  f32 operator()(f32 a) const { return static_cast<f32>(std::exp2(static_cast<f64>(a))); }
};
struct LogarithmOfTwo {
  f32 operator()(f32 a) const { return static_cast<f32>(std::log2(static_cast<f64>(a))); }
};
struct CountBits {
  template <class T>
  u32 operator()(T a) const {
    return static_cast<u32>(std::popcount(a));
  }
};
/// b with bits [first, first + count) replaced by those of a.
struct InsertBits {
  template <class T>
  T operator()(T a, T b, u32 first, u32 count) const {
    constexpr u32 kBits = 8 * sizeof(T);
    first &= 0xff, count &= 0xff;
    if (first >= kBits || count == 0) return b;
    const T field = count >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
    const T mask = static_cast<T>(field << first);
    return static_cast<T>((b & ~mask) | ((a << first) & mask));
  }
};
struct Select {
  template <class T>
  T operator()(T a, T b, bool first) const {
    return first ? a : b;
  }
};
struct Same {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};

// --- comparisons; false for not-a-numbers, those that end in u true ---

struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b || a > b;
  }
};
struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct Unordered {
  template <class T>
  bool operator()(T a, T b) const {
    return std::isnan(a) || std::isnan(b);
  }
};
template <class Comparison>
struct OrUnordered {
  template <class T>
  bool operator()(T a, T b) const {
    return Unordered{}(a, b) || Comparison{}(a, b);
  }
};

// --- conversions ---

struct ToNearest {
  template <class T>
  T operator()(T x) const {
    return std::nearbyint(x);
  }
};
struct TowardsZero {
  template <class T>
  T operator()(T x) const {
    return std::trunc(x);
  }
};
struct Downwards {
  template <class T>
  T operator()(T x) const {
    return std::floor(x);
  }
};
struct Upwards {
  template <class T>
  T operator()(T x) const {
    return std::ceil(x);
  }
};
/// Out of range: the nearest integer that there is; not-a-numbers 0.
template <class To, class Round>
struct ToInteger {
  template <class From>
  To operator()(From x) const {
    const auto rounded = static_cast<f64>(Round{}(x));
    if (std::isnan(rounded)) return 0;
    if (rounded <= static_cast<f64>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (rounded >= static_cast<f64>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(rounded);
  }
};
template <class To>
struct Convert {
  template <class From>
  To operator()(From x) const {
    return static_cast<To>(x);
  }
};
struct Saturate {
  f32 operator()(f32 x) const { return std::isnan(x) ? 0 : std::fmin(std::fmax(x, 0.0F), 1.0F); }
};
struct ToBf16 {
  u16 operator()(f32 x) const { return to_bits(validator::to_bf16(x)) & 0xffff; }
};

// --- the table ---

template <class F, class D, class... S, std::size_t... I>
void apply(Lanes* registers, const Instruction& in, Mask mask, std::index_sequence<I...> /*which*/) {
  Lanes& to = registers[in.operands[0]];
  const std::array<const Lanes*, sizeof...(S)> from{&registers[in.operands[I + 1]]...};
  const F f{};
  if (mask == ~Mask{0}) {  // without a question per lane, so that the compiler takes several at once
    for (unsigned lane = 0; lane < kLanes; ++lane)
      to[lane] = to_bits<D>(f(from_bits<S>((*from[I])[lane])...));
    return;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) != 0) to[lane] = to_bits<D>(f(from_bits<S>((*from[I])[lane])...));
  }
}
template <class F, class D, class... S>
void compute(Lanes* registers, const Instruction& in, Mask mask) {
  apply<F, D, S...>(registers, in, mask, std::index_sequence_for<S...>{});
}

/// mov of two registers into one of twice the width, and back.
template <class Half>
void pack(Lanes* registers, const Instruction& in, Mask mask) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const u64 low = to_bits(from_bits<Half>(registers[in.operands[1]][lane]));
    const u64 high = to_bits(from_bits<Half>(registers[in.operands[2]][lane]));
    registers[in.operands[0]][lane] = high << (8 * sizeof(Half)) | low;
  }
}
template <class Half>
void unpack(Lanes* registers, const Instruction& in, Mask mask) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const u64 whole = registers[in.operands[2]][lane];
    registers[in.operands[0]][lane] = to_bits(from_bits<Half>(whole));
    registers[in.operands[1]][lane] = to_bits(from_bits<Half>(whole >> (8 * sizeof(Half))));
  }
}

class Table {
 public:
  Table() {
    integers<u16, s16, u32, s32, u64, s64>();
    floats<f32, f64>();
    bits<u16>("b16"), bits<u32>("b32"), bits<u64>("b64"), bits<bool>("pred");
    for (const char* name : {"b8", "u8"}) table_[std::string{"mov."} + name] = compute<Same, u8, u8>;
    conversions();
    table_["fma.rm.f32"] = compute<FusedDown, f32, f32, f32, f32>;
    table_["ex2.approx.f32"] = compute<PowerOfTwo, f32, f32>;
    table_["lg2.approx.f32"] = compute<LogarithmOfTwo, f32, f32>;
    table_["div.approx.f32"] = compute<DivideApproximately, f32, f32, f32>;
    table_["ex2.approx.ftz.f32"] = compute<Flushing<PowerOfTwo>, f32, f32>;
    table_["lg2.approx.ftz.f32"] = compute<Flushing<LogarithmOfTwo>, f32, f32>;
    table_["rcp.approx.ftz.f32"] = compute<Flushing<Reciprocal>, f32, f32>;
    table_["rsqrt.approx.ftz.f32"] = compute<Flushing<ReciprocalRoot>, f32, f32>;
    table_["mul.ftz.f32"] = compute<Flushing<Multiply>, f32, f32, f32>;
    table_["popc.b32"] = compute<CountBits, u32, u32>;
    table_["popc.b64"] = compute<CountBits, u32, u64>;
    table_["bfi.b32"] = compute<InsertBits, u32, u32, u32, u32, u32>;
    table_["bfi.b64"] = compute<InsertBits, u64, u64, u64, u32, u32>;
    table_["pack.b32"] = pack<u16>, table_["pack.b64"] = pack<u32>;
    table_["unpack.b32"] = unpack<u16>, table_["unpack.b64"] = unpack<u32>;
  }
  [[nodiscard]] LaneFunction find(const std::string& opcode) const {
    const auto row = table_.find(opcode);
    return row == table_.end() ? nullptr : row->second;
  }

 private:
  template <class T>
  static std::string of(const char* name) {
    return std::string{name} + "." + kName<T>;
  }
  template <class F, class T>
  void unary(const char* name) {
    table_[of<T>(name)] = compute<F, T, T>;
  }
  template <class F, class T>
  void binary(const char* name) {
    table_[of<T>(name)] = compute<F, T, T, T>;
  }
  template <class F, class T>
  void compare(const char* name) {
    table_[of<T>(name)] = compute<F, bool, T, T>;
  }
  template <class T>
  void of_all_numbers() {
    binary<Add, T>("add"), binary<Subtract, T>("sub");
    binary<Minimum, T>("min"), binary<Maximum, T>("max");
    unary<Same, T>("mov");
    table_[of<T>("selp")] = compute<Select, T, T, T, bool>;
    compare<Equal, T>("setp.eq"), compare<NotEqual, T>("setp.ne");
    compare<Less, T>("setp.lt"), compare<LessEqual, T>("setp.le");
    compare<Greater, T>("setp.gt"), compare<GreaterEqual, T>("setp.ge");
  }
  template <class... T>
  void integers() {
    (integer<T>(), ...);
    widening<u16, u32>(), widening<s16, s32>(), widening<u32, u64>(), widening<s32, s64>();
  }
  template <class T>
  void integer() {
    of_all_numbers<T>();
    binary<Multiply, T>("mul.lo"), binary<MultiplyHigh, T>("mul.hi");
    table_[of<T>("mad.lo")] = compute<MultiplyAdd, T, T, T, T>;
    binary<Divide, T>("div"), binary<Remainder, T>("rem");
    table_[of<T>("shr")] = compute<ShiftRight, T, T, u32>;
    if constexpr (std::is_signed_v<T>) unary<Negate, T>("neg"), unary<Absolute, T>("abs");
  }
  template <class T, class Wide>
  void widening() {
    table_[of<T>("mul.wide")] = compute<MultiplyWide<Wide>, Wide, T, T>;
    table_[of<T>("mad.wide")] = compute<MultiplyWide<Wide>, Wide, T, T, Wide>;
  }
  template <class... T>
  void floats() {
    (floating<T>(), ...);
  }
  template <class T>
  void floating() {
    of_all_numbers<T>();
    binary<Multiply, T>("mul");
    binary<Add, T>("add.rn"), binary<Subtract, T>("sub.rn"), binary<Multiply, T>("mul.rn");
    binary<Divide, T>("div.rn"), binary<CopySign, T>("copysign");
    table_[of<T>("fma.rn")] = compute<Fused, T, T, T, T>;
    unary<Negate, T>("neg"), unary<Absolute, T>("abs");
    unary<SquareRoot, T>("sqrt.rn"), unary<Reciprocal, T>("rcp.rn"), unary<ReciprocalRoot, T>("rsqrt.approx");
    compare<Unordered, T>("setp.nan");
    compare<OrUnordered<Equal>, T>("setp.equ"), compare<OrUnordered<NotEqual>, T>("setp.neu");
    compare<OrUnordered<Less>, T>("setp.ltu"), compare<OrUnordered<LessEqual>, T>("setp.leu");
    compare<OrUnordered<Greater>, T>("setp.gtu"), compare<OrUnordered<GreaterEqual>, T>("setp.geu");
  }
  template <class T>
  void bits(const std::string& type) {
    table_["and." + type] = compute<And, T, T, T>;
    table_["or." + type] = compute<Or, T, T, T>;
    table_["xor." + type] = compute<Xor, T, T, T>;
    table_["not." + type] = compute<Not, T, T>;
    table_["mov." + type] = compute<Same, T, T>;
    table_["setp.eq." + type] = compute<Equal, bool, T, T>;
    table_["setp.ne." + type] = compute<NotEqual, bool, T, T>;
    table_["selp." + type] = compute<Select, T, T, T, bool>;
    if constexpr (!std::is_same_v<T, bool>) {
      table_["shl." + type] = compute<ShiftLeft, T, T, u32>;
      table_["shr." + type] = compute<ShiftRight, T, T, u32>;
    }
  }
  template <class To, class... From>
  void integer_conversions() {
    ((table_[std::string{"cvt."} + kName<To> + "." + kName<From>] = compute<Convert<To>, To, From>), ...);
  }
  template <class To, class... From>
  void conversions_to_float() {
    ((table_[std::string{"cvt.rn."} + kName<To> + "." + kName<From>] = compute<Convert<To>, To, From>), ...);
  }
  template <class From, class... To>
  void conversions_of_float() {
    const std::string from = std::string{"."} + kName<From>;
    ((table_[std::string{"cvt.rni."} + kName<To> + from] = compute<ToInteger<To, ToNearest>, To, From>,
      table_[std::string{"cvt.rzi."} + kName<To> + from] = compute<ToInteger<To, TowardsZero>, To, From>,
      table_[std::string{"cvt.rmi."} + kName<To> + from] = compute<ToInteger<To, Downwards>, To, From>,
      table_[std::string{"cvt.rpi."} + kName<To> + from] = compute<ToInteger<To, Upwards>, To, From>),
     ...);
    table_["cvt.rni" + from + from] = compute<ToNearest, From, From>;
    table_["cvt.rzi" + from + from] = compute<TowardsZero, From, From>;
    table_["cvt.rmi" + from + from] = compute<Downwards, From, From>;
    table_["cvt.rpi" + from + from] = compute<Upwards, From, From>;
  }
  void conversions() {
    integer_conversions<u8, u8, s8, u16, s16, u32, s32, u64, s64>();
    integer_conversions<s8, u8, s8, u16, s16, u32, s32, u64, s64>();
    integer_conversions<u16, u8, s8, u16, s16, u32, s32, u64, s64>();
    integer_conversions<s16, u8, s8, u16, s16, u32, s32, u64, s64>();
    integer_conversions<u32, u8, s8, u16, s16, u32, s32, u64, s64>();
    integer_conversions<s32, u8, s8, u16, s16, u32, s32, u64, s64>();
    integer_conversions<u64, u8, s8, u16, s16, u32, s32, u64, s64>();
    integer_conversions<s64, u8, s8, u16, s16, u32, s32, u64, s64>();
    conversions_to_float<f32, u8, s8, u16, s16, u32, s32, u64, s64, f64>();
    conversions_to_float<f64, u8, s8, u16, s16, u32, s32, u64, s64>();
    conversions_of_float<f32, u16, s16, u32, s32, u64, s64>();
    conversions_of_float<f64, u16, s16, u32, s32, u64, s64>();
    table_["cvt.f64.f32"] = compute<Convert<f64>, f64, f32>;
    table_["cvt.sat.f32.f32"] = compute<Saturate, f32, f32>;
    table_["cvt.rn.bf16.f32"] = compute<ToBf16, u16, f32>;
  }

  std::unordered_map<std::string, LaneFunction> table_;
};

}  // namespace

LaneFunction find_compute(const std::string& opcode) {
  static const Table table;
  return table.find(opcode);
}

}  // namespace hexaplan::tests::ptx
