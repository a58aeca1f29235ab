#include "validator/executor/checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace hexaplan::validator {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number_{open(path.c_str(), O_RDONLY | O_CLOEXEC)} {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void fail(const std::string& path, int error) {
  throw std::system_error{error, std::generic_category(), path};
}

void* address_of(std::string_view bytes) {
  return const_cast<char*>(bytes.data());  // NOLINT(*-const-cast): of the system, which changes no byte
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file{path};
  struct stat state {};
  if (file.number() < 0 || fstat(file.number(), &state) != 0) fail(path, errno);
  if (!S_ISREG(state.st_mode)) fail(path, S_ISDIR(state.st_mode) ? EISDIR : EINVAL);
  if (state.st_size == 0) return;
  const auto size = static_cast<std::size_t>(state.st_size);
  void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (at == MAP_FAILED) fail(path, errno);
  bytes_ = {static_cast<const char*>(at), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(address_of(bytes_), bytes_.size());
}

void MappedFile::let_go() const {
  if (!bytes_.empty()) static_cast<void>(madvise(address_of(bytes_), bytes_.size(), MADV_DONTNEED));
}

}  // namespace hexaplan::validator
