#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/ptx/instruction.h"

namespace hexaplan::tests::ptx {

/// What the hardware tells every thread.
enum class Special : std::uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId
};

/// An array in shared memory, offset from its beginning.
struct SharedArray {
  std::string name;
  std::uint64_t offset = 0, bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  struct Parameter {
    std::uint64_t offset, bytes;
  };
  std::vector<Parameter> parameters;
  std::uint64_t parameter_bytes = 0;
  std::vector<SharedArray> shared;   // of fixed size
  std::uint64_t dynamic_shared = 0;  // where the array begins whose size the launch says
  std::uint64_t local_bytes = 0;     // per thread
  std::uint32_t registers = 0;
  // Registers that hold immediates, and what the hardware says.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> constants;
  std::vector<std::pair<std::uint32_t, Special>> specials;
};

/// PTX text of one source. Kernels are read when they are asked for.
class Module {
 public:
  /// Throws Fault where the text is no module.
  explicit Module(std::string text);

  [[nodiscard]] std::vector<std::string> kernels() const;
  [[nodiscard]] bool has(const std::string& kernel) const { return entries_.contains(kernel); }
  /// Throws Fault at an instruction that the interpreter does not know, naming it and its line.
  [[nodiscard]] Kernel read(const std::string& kernel) const;

 private:
  struct Range {
    std::size_t begin, end;
  };
  std::string text_;
  std::map<std::string, Range> entries_;
  std::string shared_declarations_;
};

}  // namespace hexaplan::tests::ptx
