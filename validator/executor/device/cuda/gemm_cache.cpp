#include "validator/executor/device/cuda/gemm_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

namespace hexaplan::validator::cuda {
namespace {

/// First and last word of a line: a line that was cut off, or of another format, has neither.
constexpr const char* kBegin = "gemm1";
constexpr const char* kEnd = ".";
/// Before the last word, of products with fast accumulation alone: older programs take such a line for a
/// foreign one, and their lines are still read.
constexpr const char* kFast = "fast";

void write(std::ostream& out, const LtMatrix& m) {
  out << ' ' << static_cast<int>(m.element) << ' ' << m.rows << ' ' << m.cols << ' ' << m.leading << ' '
      << m.alignment;
}

bool read(std::istream& in, LtMatrix& m) {
  int element = 0;
  in >> element >> m.rows >> m.cols >> m.leading >> m.alignment;
  m.element = static_cast<Element>(element);
  return in && (m.element == Element::Bf16 || m.element == Element::F32 || m.element == Element::E4m3);
}

}  // namespace

std::string cache_line(const LtGemm& product, const TunedAlgorithm& algorithm) {
  std::ostringstream out;
  out << kBegin;
  for (const LtMatrix* m : {&product.first, &product.second, &product.result}) write(out, *m);
  out << ' ' << product.transpose_first << ' ' << product.transpose_second << ' ' << product.accumulate << ' '
      << algorithm.workspace << std::hex;
  for (const std::uint64_t word : algorithm.data) out << ' ' << word;
  if (product.fast_accumulation) out << ' ' << kFast;
  out << ' ' << kEnd << '\n';
  return out.str();
}

std::optional<std::pair<LtGemm, TunedAlgorithm>> read_cache_line(const std::string& line) {
  std::istringstream in{line};
  std::string begin, end;
  LtGemm product;
  TunedAlgorithm algorithm;
  in >> begin;
  if (begin != kBegin) return std::nullopt;
  for (LtMatrix* m : {&product.first, &product.second, &product.result}) {
    if (!read(in, *m)) return std::nullopt;
  }
  in >> product.transpose_first >> product.transpose_second >> product.accumulate >> algorithm.workspace >>
      std::hex;
  for (std::uint64_t& word : algorithm.data) in >> word;
  in >> end;
  product.fast_accumulation = end == kFast;
  if (product.fast_accumulation) in >> end;
  if (!in || end != kEnd) return std::nullopt;
  return std::pair{product, algorithm};
}

GemmCache::GemmCache(std::filesystem::path file) : file_{std::move(file)} {
  std::ifstream in{file_};
  for (std::string line; std::getline(in, line);) {
    if (const auto read = read_cache_line(line)) known_[read->first] = read->second;
  }
}

const TunedAlgorithm* GemmCache::find(const LtGemm& product) const {
  const auto found = known_.find(product);
  return found == known_.end() ? nullptr : &found->second;
}

void GemmCache::add(const LtGemm& product, const TunedAlgorithm& algorithm) {
  keep(product, algorithm);
  if (file_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  // One write to the end: lines of several processes do not mix.
  const int file = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  const std::string line = cache_line(product, algorithm);
  [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
  close(file);
}

std::filesystem::path gemm_cache_file(std::string_view gpu, std::size_t library_version) {
  std::filesystem::path folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    folder = cache;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    folder = std::filesystem::path{home} / ".cache";
  } else {
    return {};
  }
  std::string name{gpu};
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return folder / "hexaplan" / ("gemm-" + name + "-cublaslt-" + std::to_string(library_version) + ".txt");
}

}  // namespace hexaplan::validator::cuda
