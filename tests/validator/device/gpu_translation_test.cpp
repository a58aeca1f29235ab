// What the CUDA device asks of cuBLASLt and cuDNN, as plain values: no GPU and no toolkit is needed to check
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/validator/device/random_numbers.h"
#include "validator/device/cuda/gemm_cache.h"
#include "validator/device/cuda/gpu_error.h"
#include "validator/device/cuda/lt_gemm.h"
#include "validator/device/cuda/pieces.h"

namespace hexaplan::validator::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// --- products ---

/// A view whose address nobody follows.
View view(std::int64_t rows, std::int64_t cols, Element element, std::int64_t stride = 0,
          std::uintptr_t address = 4096) {
  // NOLINTNEXTLINE(*-reinterpret-cast): only looked at
  return {reinterpret_cast<std::byte*>(address), element, rows, cols, stride == 0 ? cols : stride};
}

/// A column-major product by its definition, on numbers: what cuBLASLt makes of a form.
std::vector<double> column_major_product(const LtGemm& form, const std::vector<double>& first,
                                         const std::vector<double>& second) {
  const auto at = [](const LtMatrix& m, const std::vector<double>& data, std::int64_t r, std::int64_t c,
                     bool transpose) {
    return data[static_cast<std::size_t>(transpose ? r * m.leading + c : c * m.leading + r)];
  };
  const std::int64_t depth = form.transpose_first ? form.first.rows : form.first.cols;
  EXPECT_EQ(depth, form.transpose_second ? form.second.cols : form.second.rows);
  EXPECT_EQ(form.result.rows, form.transpose_first ? form.first.cols : form.first.rows);
  EXPECT_EQ(form.result.cols, form.transpose_second ? form.second.rows : form.second.cols);
  std::vector<double> out(static_cast<std::size_t>(form.result.leading * form.result.cols));
  for (std::int64_t r = 0; r < form.result.rows; ++r) {
    for (std::int64_t c = 0; c < form.result.cols; ++c) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += at(form.first, first, r, k, form.transpose_first) *
               at(form.second, second, k, c, form.transpose_second);
      out[static_cast<std::size_t>(c * form.result.leading + r)] = sum;
    }
  }
  return out;
}

TEST(cublaslt_form, a_row_major_product_is_a_column_major_one_with_its_operands_exchanged) {
  constexpr std::int64_t kRows = 3, kCols = 4, kDepth = 5, kPad = 2;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const View a = ta ? view(kDepth, kRows, Element::F32, kRows + kPad) : view(kRows, kDepth, Element::F32);
      const View b = tb ? view(kCols, kDepth, Element::F32) : view(kDepth, kCols, Element::F32, kCols + kPad);
      const View c = view(kRows, kCols, Element::F32, kCols + kPad);
      const auto numbers_of = [](const View& v, unsigned seed) {
        return random_numbers(static_cast<std::size_t>(v.rows * v.stride), seed);
      };
      const std::vector<double> x = numbers_of(a, 1), y = numbers_of(b, 2);
      const auto form = to_cublaslt({.a = a, .b = b, .c = c, .transpose_a = ta, .transpose_b = tb});
      ASSERT_TRUE(form);
      const std::vector<double> made = column_major_product(*form, y, x);
      for (std::int64_t r = 0; r < kRows; ++r) {
        for (std::int64_t col = 0; col < kCols; ++col) {
          double sum = 0;
          for (std::int64_t k = 0; k < kDepth; ++k)
            sum += x[static_cast<std::size_t>(ta ? k * a.stride + r : r * a.stride + k)] *
                   y[static_cast<std::size_t>(tb ? col * b.stride + k : k * b.stride + col)];
          EXPECT_NEAR(made[static_cast<std::size_t>(r * c.stride + col)], sum, 1e-12) << ta << tb;
        }
      }
    }
  }
}

TEST(cublaslt_form, exists_for_what_is_summed_in_fp32_and_stored_no_narrower) {
  struct Row {
    Element a, b, c;
    bool taken;
  };
  const Row rows[] = {
      {Element::Bf16, Element::Bf16, Element::Bf16, true},
      {Element::Bf16, Element::Bf16, Element::F32, true},  // weight gradients
      {Element::F32, Element::F32, Element::F32, true},
      {Element::F32, Element::F32, Element::Bf16, false},
      {Element::Bf16, Element::F32, Element::F32, false},
      {Element::F64, Element::F64, Element::F64, false},
  };
  for (const Row& row : rows) {
    const auto form = to_cublaslt({.a = view(8, 8, row.a), .b = view(8, 8, row.b), .c = view(8, 8, row.c)});
    EXPECT_EQ(form.has_value(), row.taken)
        << static_cast<int>(row.a) << static_cast<int>(row.b) << static_cast<int>(row.c);
  }
}

TEST(cublaslt_form, alignment_is_that_of_address_and_rows_together) {
  struct Row {
    std::uintptr_t address;
    std::int64_t stride;
    std::uint32_t bytes;
  };
  for (const Row& row : {Row{4096, 128, 256}, Row{4096, 72, 16}, Row{4096 + 32, 128, 32}, Row{4096, 65, 2}}) {
    const View a = view(64, 64, Element::Bf16, row.stride, row.address);
    const auto form =
        to_cublaslt({.a = a, .b = view(64, 64, Element::Bf16), .c = view(64, 64, Element::F32)});
    ASSERT_TRUE(form);
    EXPECT_EQ(form->second.alignment, row.bytes) << row.stride;
  }
  const View row = view(1, 65, Element::Bf16, 65);
  EXPECT_EQ(to_cublaslt({.a = row, .b = view(65, 64, Element::Bf16), .c = view(1, 64, Element::F32)})
                ->second.alignment,
            256U)
      << "one row has no distance to the next";
}

// --- tuned algorithms ---

struct TemporaryFile {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("hexaplan-gemm-" + std::to_string(getpid())) / "cache.txt";
  ~TemporaryFile() { std::filesystem::remove_all(path.parent_path()); }
};

LtGemm form_of(std::int64_t rows, bool accumulate = false) {
  return *to_cublaslt({.a = view(rows, 64, Element::Bf16),
                       .b = view(32, 64, Element::Bf16),
                       .c = view(rows, 32, Element::F32),
                       .transpose_b = true,
                       .accumulate = accumulate});
}
constexpr TunedAlgorithm kFast{{1, 0xffffffffffffffffU, 3, 4, 5, 6, 7, 8}, 1024};

TEST(gemm_cache, the_next_process_finds_what_one_has_measured) {
  const TemporaryFile file;
  GemmCache first{file.path};
  first.add(form_of(8), kFast);
  first.keep(form_of(24), kFast);
  const GemmCache next{file.path};
  ASSERT_NE(next.find(form_of(8)), nullptr);
  EXPECT_EQ(*next.find(form_of(8)), kFast);
  EXPECT_EQ(next.find(form_of(16)), nullptr);
  EXPECT_EQ(next.find(form_of(8, true)), nullptr) << "adding to the result is another product";
  EXPECT_EQ(next.find(form_of(24)), nullptr) << "what was kept in memory alone";
}

TEST(gemm_cache, skips_lines_that_are_cut_off_or_foreign) {
  const std::string whole = cache_line(form_of(8), kFast);
  ASSERT_TRUE(read_cache_line(whole));
  for (std::size_t length = 0; length + 2 < whole.size(); ++length)
    EXPECT_FALSE(read_cache_line(whole.substr(0, length))) << length;
  EXPECT_FALSE(read_cache_line("gemm2" + whole.substr(5)));
  const TemporaryFile file;
  std::filesystem::create_directories(file.path.parent_path());
  std::ofstream{file.path} << whole.substr(0, whole.size() / 2) << '\n' << whole;
  EXPECT_NE(GemmCache{file.path}.find(form_of(8)), nullptr);
}

TEST(gemm_cache, a_folder_that_cannot_be_written_costs_nothing_but_the_memory_of_it) {
  GemmCache cache{"/proc/nowhere/cache.txt"};
  cache.add(form_of(8), kFast);
  EXPECT_NE(cache.find(form_of(8)), nullptr);
}

TEST(gemm_cache, files_are_kept_apart_by_gpu_and_library) {
  EXPECT_EQ(gemm_cache_file("NVIDIA H200", 130100).filename(), "gemm-NVIDIA-H200-cublaslt-130100.txt");
}

// --- copies ---

TEST(pieces, cover_every_element_once_in_order) {
  for (const std::int64_t stride : {7, 9}) {
    for (const std::int64_t most : {1, 3, 7, 8, 20, 1000}) {
      const View whole = view(5, 7, Element::I32, stride);
      std::int64_t next = 0;
      for_pieces(whole, most, [&](const View& piece, std::int64_t first) {
        EXPECT_LE(piece.elements(), most);
        EXPECT_EQ(first, next);
        EXPECT_EQ(piece.data - whole.data, (first / 7 * stride + first % 7) * 4);
        next += piece.elements();
      });
      EXPECT_EQ(next, 35) << stride << " " << most;
    }
  }
}

TEST(pieces, host_numbers_survive_in_what_can_hold_them) {
  const std::vector<double> numbers{1, -0.5, 3, 1024};
  for (const Element element : {Element::F64, Element::F32, Element::Bf16, Element::I32}) {
    std::vector<std::byte> memory(numbers.size() * bytes_of(element));
    encode(memory.data(), element, numbers.data(), std::ssize(numbers));
    std::vector<double> back(numbers.size());
    decode(back.data(), element, memory.data(), std::ssize(back));
    const bool whole = element == Element::I32;
    EXPECT_THAT(back, testing::ElementsAre(1, whole ? 0 : -0.5, 3, 1024));
  }
}

// --- errors ---

TEST(gpu_error, names_the_call_its_place_the_gpu_and_what_to_do) {
  const GpuError error{{.library = "CUDA",
                        .call = "cudaMallocHost(&memory, kHalfBytes)",
                        .code = "cudaErrorInsufficientDriver",
                        .message = "CUDA driver version is insufficient for CUDA runtime version",
                        .file = "/home/somebody/hexaplan/validator/device/cuda/runtime/staging.cpp",
                        .line = 17,
                        .gpu = 3}};
  EXPECT_THAT(error.what(), AllOf(HasSubstr("cudaMallocHost(&memory, kHalfBytes)"),
                                  HasSubstr("cudaErrorInsufficientDriver"), HasSubstr("on GPU 3"),
                                  HasSubstr(" at validator/device/cuda/runtime/staging.cpp:17"),
                                  HasSubstr("update the NVIDIA driver")));
  EXPECT_EQ(hint_for("cudaErrorUnheardOf"), "");
}

}  // namespace
}  // namespace hexaplan::validator::cuda
