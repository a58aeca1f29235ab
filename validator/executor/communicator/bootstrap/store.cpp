#include "validator/executor/communicator/bootstrap/store.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "validator/executor/communicator/bootstrap/bootstrap_error.h"
#include "validator/executor/communicator/bootstrap/store_messages.h"
#include "validator/executor/communicator/clock.h"

namespace hexaplan::validator {
namespace {

using namespace store_messages;  // NOLINT(google-build-using-namespace): this file is that protocol's client

/// The server gives up first and says why; this much later its silence is taken for an answer.
constexpr costmodel::Seconds kPatience{5};
/// Between two looks whether process 0 has come to this run.
constexpr std::chrono::milliseconds kBetweenTries{20};

Deadline deadline_after(costmodel::Seconds time) {
  return std::chrono::steady_clock::now() + duration_of(time);
}

Blob copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Store::Store(const Address& at, const StoreJob& job, int rank, costmodel::Seconds timeout)
    : timeout_{timeout} {
  const Deadline deadline = deadline_after(timeout);
  while (const auto busy = enter(at, job, rank, deadline)) {
    socket_ = Socket{};
    if (std::chrono::steady_clock::now() + kBetweenTries > deadline) {
      throw BootstrapError{
          fmt::format("waited {:g} s for process 0 to come to {}: {}", timeout.value(), job.run, *busy)};
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

std::optional<std::string> Store::enter(const Address& at, const StoreJob& job, int rank, Deadline deadline) {
  socket_ = connect_to(at, deadline);
  Packer request{Ask::Hello};
  request.text(kGreeting).text(job.name).number(std::int32_t{job.ranks}).number(std::int32_t{rank});
  request.text(job.run);
  try {
    const Blob reply = ask(request.finish());
    Unpacker read{reply};
    if (read.number<Reply>() != Reply::Later) return std::nullopt;
    return "it is in " + read.text();
  } catch (const ConnectionClosed&) {
    return "the run before was ending";  // its server took the call and was gone
  }
}

Store::~Store() {
  if (!socket_.open()) return;
  try {
    Packer request{Ask::Goodbye};
    socket_.write(request.finish(), deadline_after(costmodel::Seconds{1}));
  } catch (const BootstrapError&) {
    // Process 0 has ended already.
  }
}

Blob Store::ask(std::span<const std::byte> request) {
  const std::scoped_lock lock{mutex_};
  if (!socket_.open()) throw BootstrapError{"the connection to process 0 was given up"};
  const Deadline deadline = deadline_after(timeout_ + kPatience);
  socket_.write(request, deadline);
  std::uint32_t length = 0;
  socket_.read(std::as_writable_bytes(std::span{&length, 1}), deadline);
  if (length == 0 || length > kLongest)
    throw BootstrapError{
        "what answers for process 0 is not hexaplan: another program uses its port; "
        "choose one with --master host:port"};
  Blob reply(length);
  socket_.read(reply, deadline);
  Unpacker read{reply};
  if (read.number<Reply>() == Reply::Refused) {
    const std::string why = read.text();
    const auto died = read.number<std::int32_t>();
    throw BootstrapError{why, died < 0 ? std::nullopt : std::optional<int>{died}};
  }
  return reply;
}

void Store::set(std::string_view key, std::span<const std::byte> value) {
  Packer request{Ask::Set};
  ask(request.text(key).blob(value).finish());
}

std::optional<Blob> Store::find(std::string_view key) {
  Packer request{Ask::Find};
  const Blob reply = ask(request.text(key).finish());
  Unpacker read{reply};
  if (read.number<Reply>() == Reply::Nothing) return std::nullopt;
  return copy_of(read.blob());
}

Blob Store::get(std::string_view key) {
  Packer request{Ask::Get};
  const Blob reply = ask(request.text(key).number(timeout_.value()).finish());
  Unpacker read{reply};
  read.number<Reply>();
  return copy_of(read.blob());
}

std::vector<Blob> Store::meet(std::string_view name, int index, int size, std::span<const std::byte> mine) {
  Packer request{Ask::Meet};
  request.text(name)
      .number(std::int32_t{index})
      .number(std::int32_t{size})
      .number(timeout_.value())
      .blob(mine);
  const Blob reply = ask(request.finish());
  Unpacker read{reply};
  read.number<Reply>();
  std::vector<Blob> all;
  all.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) all.push_back(copy_of(read.blob()));
  return all;
}

void Store::interrupt() {
  socket_.shut_down();
}

}  // namespace hexaplan::validator
