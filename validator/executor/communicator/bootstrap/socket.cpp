#include "validator/executor/communicator/bootstrap/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "validator/executor/communicator/bootstrap/bootstrap_error.h"

namespace hexaplan::validator {
namespace {

using SocketClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRetry{50};
constexpr int kBacklog = 4096;  // all ranks of a large job may come at once

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SocketClock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

std::string text_of(int error) {
  return std::strerror(error);
}

void be_prompt(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const Address& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    throw BootstrapError{
        fmt::format("host \"{}\" of process 0 is not known here: {}; check --master or MASTER_ADDR",
                    address.host, gai_strerror(error))};
  }
  return {found, &freeaddrinfo};
}

/// 0, or why not.
int try_connect(const addrinfo& to, Deadline deadline, Socket& out) {
  Socket socket{::socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to.ai_protocol)};
  if (!socket.open()) return errno;
  if (::connect(socket.descriptor(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    pollfd state{socket.descriptor(), POLLOUT, 0};
    if (::poll(&state, 1, milliseconds_until(deadline)) <= 0) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  be_prompt(socket.descriptor());
  out = std::move(socket);
  return 0;
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Socket::shut_down() const {
  if (descriptor_ >= 0) ::shutdown(descriptor_, SHUT_RDWR);
}

void Socket::wait_until_ready(short events, Deadline deadline) const {
  pollfd state{descriptor_, events, 0};
  int ready = 0;
  do {
    ready = ::poll(&state, 1, milliseconds_until(deadline));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) throw BootstrapError{"process 0 did not answer in time"};
}

void Socket::write(std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      wait_until_ready(POLLOUT, deadline);
    } else {
      throw ConnectionClosed{};
    }
  }
}

void Socket::read(std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      wait_until_ready(POLLIN, deadline);
    } else {
      throw ConnectionClosed{};
    }
  }
}

Socket listen_on(int port) {
  Socket socket{::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const bool six = socket.open();
  if (!six) socket = Socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const int on = 1, off = 0;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (six) setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_storage address{};
  socklen_t size = sizeof(sockaddr_in);
  if (six) {
    auto& any = reinterpret_cast<sockaddr_in6&>(address);  // NOLINT: the socket interface's way
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    size = sizeof any;
  } else {
    auto& any = reinterpret_cast<sockaddr_in&>(address);  // NOLINT: the socket interface's way
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<std::uint16_t>(port));
  }
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);  // NOLINT: the socket interface's way
  if (::bind(socket.descriptor(), generic, size) != 0 || ::listen(socket.descriptor(), kBacklog) != 0) {
    throw BootstrapError{fmt::format(
        "process 0 cannot listen on port {}: {}; another job may use it: choose one with --master host:port",
        port, text_of(errno))};
  }
  return socket;
}

int port_of(const Socket& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the socket interface's way
  getsockname(listening.descriptor(), generic, &size);
  const bool six = address.ss_family == AF_INET6;
  return ntohs(six ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port  // NOLINT
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);  // NOLINT
}

Socket connect_to(const Address& address, Deadline deadline) {
  const AddressList addresses = resolve(address);
  while (true) {
    int error = 0;
    for (const addrinfo* to = addresses.get(); to != nullptr; to = to->ai_next) {
      Socket socket;
      error = try_connect(*to, deadline, socket);
      if (error == 0) return socket;
    }
    if (SocketClock::now() + kRetry > deadline) {
      throw BootstrapError{fmt::format(
          "process 0 does not answer at {}: {}; is it running, and does a firewall let the port through?",
          address.text(), text_of(error))};
    }
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace hexaplan::validator
