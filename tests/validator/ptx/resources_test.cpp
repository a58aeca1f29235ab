// Registers, memory and instructions that ptxas gives every kernel of the executor on Hopper, against what is
// recorded beside this file (renewed with HEXAPLAN_UPDATE=1): a kernel that begins to spill, or takes so many
// registers that fewer blocks fit, is found without a GPU.
#include <cxxabi.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace hexaplan::tests {
namespace {

namespace fs = std::filesystem;

struct Resources {
  int registers = 0, shared = 0, stack = 0, spilled = 0;  // bytes, but for registers
  int instructions = 0;                                   // of the whole code, slow paths included
  friend bool operator==(const Resources&, const Resources&) = default;
};
using Table = std::map<std::string, Resources>;  // by kernel

std::string contents(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// "cuda::norm_forward<2, true>": without spaces of names that are in every one, and without arguments.
std::string short_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text{
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free};
  if (status != 0) return symbol;
  std::string name = std::regex_replace(
      std::string{text.get()}, std::regex{R"(hexaplan::validator::|\(anonymous namespace\)::|^void )"}, "");
  name = std::regex_replace(name, std::regex{R"(cuda::| (?=>))"}, "");
  return name.substr(0, name.find('('));
}

/// The number that an integer's bytes are at `at`.
template <class Number>
Number number_at(const std::string& bytes, std::size_t at) {
  Number number{};
  if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

/// Instructions by kernel: a cubin is an ELF file with a section ".text.<symbol>" for each; one takes 16
/// bytes.
std::map<std::string, int> instructions_in(const std::string& cubin) {
  constexpr int kInstruction = 16;
  constexpr std::size_t kSections = 0x28, kSectionSize = 0x3A, kSectionCount = 0x3C, kNames = 0x3E;
  constexpr std::size_t kOffset = 0x18, kSize = 0x20;  // of a section header of 64-bit ELF
  const auto sections = number_at<std::uint64_t>(cubin, kSections);
  const auto header_size = number_at<std::uint16_t>(cubin, kSectionSize);
  const auto header = [&](std::size_t i) { return sections + i * header_size; };
  const auto names =
      number_at<std::uint64_t>(cubin, header(number_at<std::uint16_t>(cubin, kNames)) + kOffset);
  std::map<std::string, int> found;
  for (std::size_t i = 0; i < number_at<std::uint16_t>(cubin, kSectionCount); ++i) {
    const std::string name{cubin.c_str() + names + number_at<std::uint32_t>(cubin, header(i))};
    constexpr std::string_view kCode = ".text.";
    if (!name.starts_with(kCode)) continue;
    found[name.substr(kCode.size())] =
        static_cast<int>(number_at<std::uint64_t>(cubin, header(i) + kSize)) / kInstruction;
  }
  return found;
}

int first_number(const std::string& text, const std::string& pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex{pattern}) ? std::stoi(match[1]) : 0;
}

/// What ptxas said of one source's kernels.
void read_source(const fs::path& said, Table& table) {
  const std::map<std::string, int> instructions =
      instructions_in(contents(fs::path{said}.replace_extension("cubin")));
  std::istringstream lines{contents(said)};
  std::string symbol, about;
  const auto end = [&] {
    if (symbol.empty()) return;
    const auto code = instructions.find(symbol);
    table[said.stem().string() + " " + short_name(symbol)] = {
        .registers = first_number(about, R"(Used (\d+) registers)"),
        .shared = first_number(about, R"((\d+) bytes smem)"),
        .stack = first_number(about, R"((\d+) bytes stack frame)"),
        .spilled = first_number(about, R"((\d+) bytes spill stores)"),
        .instructions = code == instructions.end() ? 0 : code->second};
  };
  constexpr std::string_view kBegin = "Compiling entry function '";
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find(kBegin);
    if (begin == std::string::npos) {
      about += line + "\n";
      continue;
    }
    end();
    symbol = line.substr(begin + kBegin.size());
    symbol.resize(symbol.find('\''));
    about.clear();
  }
  end();
}

std::vector<fs::path> sources() {
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator{HEXAPLAN_KERNEL_RESOURCES}) {
    if (file.path().extension() == ".txt") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}
Table compiled() {
  Table table;
  for (const fs::path& file : sources()) read_source(file, table);
  return table;
}
/// "release 13.0"
std::string toolkit() {
  const std::string text = contents(sources().at(0));
  return text.substr(0, text.find('\n'));
}

struct Recorded {
  std::string toolkit;
  Table table;
};
Recorded recorded() {
  Recorded result;
  std::ifstream in{HEXAPLAN_RECORDED_RESOURCES};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ptxas ")) result.toolkit = line.substr(8, line.find(',') - 8);
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words{line};
    Resources r;
    words >> r.registers >> r.shared >> r.stack >> r.spilled >> r.instructions >> std::ws;
    std::string kernel;
    std::getline(words, kernel);
    result.table[kernel] = r;
  }
  return result;
}

void record(const Table& table) {
  std::ofstream out{HEXAPLAN_RECORDED_RESOURCES};
  out << "# ptxas " << toolkit()
      << ", sm_90: what the executor's kernels take. Renewed with HEXAPLAN_UPDATE=1.\n"
      << "# registers, bytes of static shared memory, of stack, spilled; instructions; source and kernel\n";
  for (const auto& [kernel, r] : table) {
    out << fmt::format("{:4} {:6} {:5} {:5} {:6}  {}\n", r.registers, r.shared, r.stack, r.spilled,
                       r.instructions, kernel);
  }
}

std::string text_of(const Resources& r) {
  return fmt::format("{} registers, {} B shared, {} B stack, {} B spilled, {} instructions", r.registers,
                     r.shared, r.stack, r.spilled, r.instructions);
}

bool updates() {
  const char* const asked = std::getenv("HEXAPLAN_UPDATE");  // NOLINT(concurrency-mt-unsafe)
  return asked != nullptr && *asked != '\0';
}

TEST(resources_of_kernels, are_those_recorded_where_the_toolkit_is_the_same) {
  const Table now = compiled();
  ASSERT_GT(now.size(), 80U);
  if (updates()) record(now);
  const auto [release, then] = recorded();
  if (release != toolkit()) GTEST_SKIP() << "recorded with ptxas " << release << ", here is " << toolkit();
  for (const auto& [kernel, r] : now) {
    const auto before = then.find(kernel);
    if (before == then.end()) {
      ADD_FAILURE() << kernel << " is not recorded: " << text_of(r) << "; HEXAPLAN_UPDATE=1 records it";
    } else {
      EXPECT_EQ(r, before->second) << kernel << ": " << text_of(r) << ", recorded "
                                   << text_of(before->second);
    }
  }
  for (const auto& [kernel, r] : then) EXPECT_TRUE(now.contains(kernel)) << kernel << " is gone";
}

/// Another release allocates a little otherwise; a quarter more is another kernel.
TEST(resources_of_kernels, do_not_grow_by_a_quarter_in_any_toolkit) {
  constexpr double kMost = 1.25;
  const Table then = recorded().table;
  for (const auto& [kernel, r] : compiled()) {
    const auto before = then.find(kernel);
    if (before == then.end()) continue;
    EXPECT_LE(r.registers, std::max(32.0, kMost * before->second.registers)) << kernel;
    EXPECT_LE(r.spilled, kMost * before->second.spilled) << kernel << " spills";
    EXPECT_LE(r.shared, before->second.shared) << kernel;
    EXPECT_LE(r.instructions, std::max(200.0, kMost * before->second.instructions)) << kernel;
  }
}

/// A block of 256 threads has to fit the 65,536 registers and the 48 KiB that need no request (CUDA C++
/// Programming Guide, compute capabilities).
TEST(resources_of_kernels, leave_room_for_a_block) {
  constexpr int kRegisters = 65536, kThreads = 256, kShared = 48 * 1024;
  for (const auto& [kernel, r] : compiled()) {
    EXPECT_GT(r.registers, 0) << kernel;
    EXPECT_GT(r.instructions, 0) << kernel;
    EXPECT_LE(r.registers * kThreads, kRegisters) << kernel;
    EXPECT_LE(r.shared, kShared) << kernel;
  }
}

}  // namespace
}  // namespace hexaplan::tests
