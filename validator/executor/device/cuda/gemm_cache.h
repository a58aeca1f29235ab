#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "validator/executor/device/cuda/lt_gemm.h"

namespace hexaplan::validator::cuda {

/// A cublasLtMatmulAlgo_t as it may be kept for the same version of the library, and its workspace in bytes.
struct TunedAlgorithm {
  std::array<std::uint64_t, 8> data{};
  std::uint64_t workspace = 0;
  friend bool operator==(const TunedAlgorithm&, const TunedAlgorithm&) = default;
};

/// The fastest algorithm per product, in memory and in a file of one line each. Several processes may append
/// to one file; lines that cannot be read are skipped; a file that cannot be written is done without.
class GemmCache {
 public:
  /// An empty path: memory alone.
  explicit GemmCache(std::filesystem::path file);
  [[nodiscard]] const TunedAlgorithm* find(const LtGemm& product) const;
  void add(const LtGemm& product, const TunedAlgorithm& algorithm);
  /// In memory alone: what was not measured.
  void keep(const LtGemm& product, const TunedAlgorithm& algorithm) { known_[product] = algorithm; }

 private:
  std::filesystem::path file_;
  std::map<LtGemm, TunedAlgorithm> known_;
};

/// Where tuned algorithms of a GPU and library version lie: below XDG_CACHE_HOME, or HOME/.cache; empty
/// without either.
[[nodiscard]] std::filesystem::path gemm_cache_file(std::string_view gpu, std::size_t library_version);

[[nodiscard]] std::string cache_line(const LtGemm& product, const TunedAlgorithm& algorithm);
[[nodiscard]] std::optional<std::pair<LtGemm, TunedAlgorithm>> read_cache_line(const std::string& line);

}  // namespace hexaplan::validator::cuda
