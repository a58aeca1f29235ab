#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/emulated_device.h"
#include "tests/support/ptx/launch.h"

namespace hexaplan::tests::ptx {

/// The GPU that the product's launches reach in a program that links the kernels as nvcc compiled them, and
/// this instead of the CUDA runtime: it interprets the PTX. One per process, for one thread.
class Gpu final : public MemoryWatcher {
 public:
  static Gpu& instance();

  struct Launch {
    std::string kernel;  // as people write it
    Grid grid;
    Work work;
  };
  /// Launches since the last call.
  std::vector<Launch> take_launches() { return std::exchange(launches_, {}); }
  /// How warps and blocks follow each other from now on.
  void set_order(Order order) { order_ = order; }
  /// Reads the PTX anew, as `edit` makes it of each source's; an empty function: as it is.
  void set_edit(std::function<std::string(const std::string& source, std::string text)> edit);
  /// The PTX of a source ("norm"), not edited.
  static std::string text_of(const std::string& source);
  /// The sources that have kernels, and those kernels; all instructions of a kernel are known where it can be
  /// read.
  [[nodiscard]] std::map<std::string, Module> modules() const;

  void taken(const std::byte* memory, std::size_t bytes) override { memory_.add(memory, bytes); }
  void given_back(const std::byte* memory) override { memory_.remove(memory); }
  void written_by_host(const std::byte* memory, std::size_t bytes, bool number) override {
    memory_.set_written(memory, bytes, number);
  }

  // What the runtime's functions do. They return cudaError_t.
  void add_function(const void* host, const char* name) { names_[host] = name; }
  int allow_shared_bytes(const void* host, int bytes);
  int launch(const void* host, Dim3 blocks, Dim3 threads, void** arguments, std::size_t shared_bytes);
  int take_error() { return std::exchange(error_, 0); }

 private:
  const Kernel& kernel_of(const std::string& name);

  GlobalMemory memory_;
  Clock clock_;
  Order order_ = Order::Forward;
  std::function<std::string(const std::string&, std::string)> edit_;
  std::map<const void*, std::string> names_;
  std::map<const void*, std::size_t> allowed_;
  std::map<std::string, Module> modules_;
  std::map<std::string, Kernel> kernels_;
  std::vector<Launch> launches_;
  int error_ = 0;
};

}  // namespace hexaplan::tests::ptx
