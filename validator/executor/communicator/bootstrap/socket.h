#pragma once
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

#include "validator/executor/communicator/bootstrap/launcher.h"

namespace hexaplan::validator {

using Deadline = std::chrono::steady_clock::time_point;

/// A TCP socket, or a listening one, with one owner.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_{descriptor} {}
  Socket(Socket&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// No more is sent or received; who waits in read() or write() comes back.
  void shut_down() const;
  [[nodiscard]] bool open() const { return descriptor_ >= 0; }

  /// Both move all bytes or throw BootstrapError: time is over, or the other side has closed.
  void write(std::span<const std::byte> bytes, Deadline deadline);
  void read(std::span<std::byte> bytes, Deadline deadline);

 private:
  void wait_until_ready(short events, Deadline deadline) const;
  int descriptor_ = -1;
};

/// Listens on all of this host's addresses; port 0: any free one. Throws BootstrapError.
[[nodiscard]] Socket listen_on(int port);
[[nodiscard]] int port_of(const Socket& listening);
/// Tries again until the deadline while nobody listens there yet. Throws BootstrapError: at once when the
/// host's name is not known.
[[nodiscard]] Socket connect_to(const Address& address, Deadline deadline);

}  // namespace hexaplan::validator
