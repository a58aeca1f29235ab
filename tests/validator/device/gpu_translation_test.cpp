// What the CUDA device asks of cuBLASLt and cuDNN, as plain values: no GPU and no toolkit is needed to check
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/validator/device/random_numbers.h"
#include "validator/executor/device/cuda/gemm_cache.h"
#include "validator/executor/device/cuda/gpu_error.h"
#include "validator/executor/device/cuda/lt_gemm.h"
#include "validator/executor/device/cuda/pieces.h"
#include "validator/executor/device/e4m3.h"

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
      {Element::E4m3, Element::Bf16, Element::Bf16, false},
      {Element::Bf16, Element::Bf16, Element::E4m3, false},
  };
  for (const Row& row : rows) {
    const auto form = to_cublaslt({.a = view(8, 8, row.a), .b = view(8, 8, row.b), .c = view(8, 8, row.c)});
    EXPECT_EQ(form.has_value(), row.taken)
        << static_cast<int>(row.a) << static_cast<int>(row.b) << static_cast<int>(row.c);
  }
}

TEST(cublaslt_form, e4m3_lies_along_the_sum_in_rows_of_sixteen_bytes) {
  struct Row {
    const char* what;
    View a, b, c;
    bool transpose_a, transpose_b, taken;
  };
  constexpr Element kNarrow = Element::E4m3, kResult = Element::Bf16;
  const View a = view(32, 64, kNarrow), b = view(48, 64, kNarrow), c = view(32, 48, kResult);
  const Row rows[] = {
      {"both along the sum", a, b, c, false, true, true},
      {"into fp32", a, b, view(32, 48, Element::F32), false, true, true},
      {"into e4m3", a, b, view(32, 48, kNarrow), false, true, false},
      {"rows apart, at 16 bytes", view(32, 64, kNarrow, 80), b, c, false, true, true},
      {"rows apart, not at 16 bytes", view(32, 64, kNarrow, 72), b, c, false, true, false},
      {"an address between", view(32, 64, kNarrow, 0, 4096 + 8), b, c, false, true, false},
      {"the second across", a, view(64, 48, kNarrow), c, false, false, false},
      {"the first across", view(64, 32, kNarrow), b, c, true, true, false},
      {"a sum of 56", view(32, 56, kNarrow), view(48, 56, kNarrow), c, false, true, false},
      {"40 rows", view(40, 64, kNarrow), b, view(40, 48, kResult), false, true, false},
      {"40 columns", a, view(40, 64, kNarrow), view(32, 40, kResult), false, true, false},
  };
  for (const Row& row : rows) {
    const auto form = to_cublaslt(
        {.a = row.a, .b = row.b, .c = row.c, .transpose_a = row.transpose_a, .transpose_b = row.transpose_b});
    EXPECT_EQ(form.has_value(), row.taken) << row.what;
    if (!form) continue;
    EXPECT_TRUE(form->transpose_first && !form->transpose_second) << "TN, as cuBLAS calls it";
  }
}

TEST(cublaslt_form, fast_accumulation_is_known_of_e4m3_alone) {
  for (const Element element : {Element::E4m3, Element::Bf16}) {
    const auto form = to_cublaslt({.a = view(32, 64, element),
                                   .b = view(48, 64, element),
                                   .c = view(32, 48, Element::Bf16),
                                   .transpose_b = true,
                                   .fast_accumulation = true});
    ASSERT_TRUE(form);
    EXPECT_EQ(form->fast_accumulation, element == Element::E4m3);
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
  tests::TemporaryFolder own;
  std::filesystem::path path = own.path() / "gemm" / "cache.txt";
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

LtGemm narrow_form(bool fast) {
  return *to_cublaslt({.a = view(32, 64, Element::E4m3),
                       .b = view(48, 64, Element::E4m3),
                       .c = view(32, 48, Element::Bf16),
                       .transpose_b = true,
                       .fast_accumulation = fast});
}

TEST(gemm_cache, tells_fast_accumulation_apart) {
  constexpr TunedAlgorithm kOther{{9, 9, 9, 9, 9, 9, 9, 9}, 16};
  const TemporaryFile file;
  GemmCache first{file.path};
  first.add(narrow_form(true), kFast);
  first.add(narrow_form(false), kOther);
  const GemmCache next{file.path};
  ASSERT_TRUE(next.find(narrow_form(true)) && next.find(narrow_form(false)));
  EXPECT_EQ(*next.find(narrow_form(true)), kFast);
  EXPECT_EQ(*next.find(narrow_form(false)), kOther);
}

TEST(gemm_cache, reads_what_was_written_before_there_was_e4m3) {
  // A line of a file as it was.
  const auto read = read_cache_line(
      "gemm1 2 64 32 64 128 2 64 8 64 128 1 32 8 32 128 1 0 0 1024 1 ffffffffffffffff 3 4 5 6 7 8 .");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->first, form_of(8));
  EXPECT_EQ(read->second, kFast);
  EXPECT_EQ(cache_line(form_of(8), kFast).find("fast"), std::string::npos) << "and is still written so";
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
  const std::vector<double> numbers{1, -0.5, 3, 256};
  for (const Element element : {Element::F64, Element::F32, Element::Bf16, Element::I32, Element::E4m3}) {
    std::vector<std::byte> memory(numbers.size() * bytes_of(element));
    encode(memory.data(), element, numbers.data(), std::ssize(numbers));
    std::vector<double> back(numbers.size());
    decode(back.data(), element, memory.data(), std::ssize(back));
    const bool whole = element == Element::I32;
    EXPECT_THAT(back, testing::ElementsAre(1, whole ? 0 : -0.5, 3, 256));
  }
}

// --- eight bits ---

constexpr float kInfinite = std::numeric_limits<float>::infinity();

TEST(e4m3, rounds_to_nearest_ties_to_even_and_saturates) {
  struct Row {
    float number;
    std::uint8_t bits;
  };
  // Codes: arXiv:2209.05433, table 1 (448 = 0x7e, 2⁻⁶ = 0x08, 2⁻⁹ = 0x01).
  const Row rows[] = {
      {0, 0x00},
      {-0.0F, 0x80},
      {1, 0x38},
      {-1, 0xb8},
      {448, 0x7e},
      {463, 0x7e},
      {465, 0x7e},
      {1e9F, 0x7e},
      {-1e9F, 0xfe},
      {kInfinite, 0x7e},
      {-kInfinite, 0xfe},
      {0x1p-6F, 0x08},
      {0x1p-9F, 0x01},
      {7 * 0x1p-9F, 0x07},
      {0x1p-10F, 0x00},
      {1.5F * 0x1p-10F, 0x01},
      {3 * 0x1p-10F, 0x02},
      {7.5F * 0x1p-9F, 0x08},
      {0x1p-11F, 0x00},
      {1e-40F, 0x00},
      {1.0625F, 0x38},
      {1.0626F, 0x39},
      {1.1875F, 0x3a},
      {3.14159F, 0x45},
      {240, 0x77},
      {247, 0x77},
      {248, 0x78},
      {432, 0x7e},
      {431, 0x7d},
      {-2.75F, 0xc3},
  };
  for (const Row& row : rows) EXPECT_EQ(to_e4m3(row.number).bits, row.bits) << row.number;
  EXPECT_EQ(to_e4m3(std::numeric_limits<float>::quiet_NaN()).bits & 0x7f, 0x7f);
}

TEST(e4m3, every_code_is_the_number_that_its_bits_say_and_comes_back) {
  for (unsigned code = 0; code < 256; ++code) {
    const E4m3 narrow{static_cast<std::uint8_t>(code)};
    const float number = to_float(narrow);
    if ((code & 0x7fU) == 0x7fU) {
      EXPECT_TRUE(std::isnan(number)) << code;
      continue;
    }
    const int exponent = static_cast<int>(code >> 3 & 15U), mantissa = static_cast<int>(code & 7U);
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    EXPECT_EQ(static_cast<double>(number), code < 128 ? magnitude : -magnitude) << code;
    EXPECT_EQ(to_e4m3(number).bits, code);
  }
}

TEST(e4m3, no_other_code_is_nearer) {
  for (const double x : random_numbers(2000, 5)) {
    for (const double scale : {0.001, 0.02, 1.0, 40.0}) {
      const auto number = static_cast<float>(x * scale);
      const float off = std::abs(to_float(to_e4m3(number)) - number);
      for (unsigned code = 0; code < 256; ++code) {
        const float other = to_float(E4m3{static_cast<std::uint8_t>(code)});
        EXPECT_FALSE(std::abs(other - number) < off) << number << " " << code;
      }
    }
  }
}

// --- errors ---

TEST(gpu_error, names_the_call_its_place_the_gpu_and_what_to_do) {
  const GpuError error{{.library = "CUDA",
                        .call = "cudaMallocHost(&memory, kHalfBytes)",
                        .code = "cudaErrorInsufficientDriver",
                        .message = "CUDA driver version is insufficient for CUDA runtime version",
                        .file = "/home/somebody/hexaplan/validator/executor/device/cuda/runtime/staging.cpp",
                        .line = 17,
                        .gpu = 3}};
  EXPECT_THAT(error.what(), AllOf(HasSubstr("cudaMallocHost(&memory, kHalfBytes)"),
                                  HasSubstr("cudaErrorInsufficientDriver"), HasSubstr("on GPU 3"),
                                  HasSubstr(" at validator/executor/device/cuda/runtime/staging.cpp:17"),
                                  HasSubstr("update the NVIDIA driver")));
  EXPECT_EQ(hint_for("cudaErrorUnheardOf"), "");
}

TEST(gpu_error, every_code_that_has_a_hint_has_one_and_says_it_at_the_end) {
  std::set<std::string_view> codes;
  for (const auto& [code, text] : gpu_hints()) {
    EXPECT_TRUE(codes.insert(code).second) << code << " has two hints";
    EXPECT_TRUE(code.starts_with("cudaError") || code.starts_with("CUBLAS_STATUS_") ||
                code.starts_with("CUDNN_STATUS_") || code.starts_with("nccl"))
        << code;
    const GpuError error{{.library = "CUDA", .call = "call", .code = std::string{code}, .message = "words"}};
    EXPECT_EQ(error.what(), "CUDA: call failed with " + std::string{code} + " (words); " + std::string{text})
        << "without a place it names none";
  }
}

}  // namespace
}  // namespace hexaplan::validator::cuda
