#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "validator/executor/communicator/bootstrap/store.h"

namespace hexaplan::validator::store_messages {

// On the wire a message is its length (32 bits) and that many bytes: a request's first is what is asked, a
// reply's whether it was granted. Numbers as the hosts have them: all ranks run the same program.

enum class Ask : std::uint8_t { Hello, Set, Find, Get, Meet, Goodbye };
/// Later: process 0 is in another run of the job; its text says in which.
enum class Reply : std::uint8_t { Granted, Refused, Nothing, Later };

inline constexpr std::string_view kGreeting = "hexaplan store 2";
/// Longer messages come from strangers.
inline constexpr std::uint32_t kLongest = 1U << 30;

class Packer {
 public:
  template <class Kind>
  explicit Packer(Kind kind) {
    number(std::uint32_t{0});
    number(kind);
  }
  template <class T>
  Packer& number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  Packer& text(std::string_view value) { return blob(std::as_bytes(std::span{value})); }
  Packer& blob(std::span<const std::byte> value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  /// With its length in front.
  [[nodiscard]] const Blob& finish() {
    const auto length = static_cast<std::uint32_t>(bytes_.size() - sizeof(std::uint32_t));
    std::memcpy(bytes_.data(), &length, sizeof length);
    return bytes_;
  }

 private:
  Blob bytes_;
};

/// What is not there reads as zero and empty; then whole() is false.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : left_{bytes} {}
  template <class T>
  T number() {
    T value{};
    const auto from = take(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> blob() { return take(number<std::uint32_t>()); }
  std::string text() {
    const auto from = blob();
    std::string value(from.size(), '\0');
    if (!from.empty()) std::memcpy(value.data(), from.data(), from.size());
    return value;
  }
  [[nodiscard]] bool whole() const { return whole_; }

 private:
  std::span<const std::byte> take(std::size_t bytes) {
    whole_ = whole_ && bytes <= left_.size();
    if (!whole_) return {};
    const auto taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }
  std::span<const std::byte> left_;
  bool whole_ = true;
};

}  // namespace hexaplan::validator::store_messages
