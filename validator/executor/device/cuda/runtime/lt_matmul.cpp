#include "validator/executor/device/cuda/runtime/lt_matmul.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "validator/executor/device/cuda/gpu_error.h"
#include "validator/executor/device/cuda/runtime/check.h"
#include "validator/executor/device/unsupported_product.h"

namespace hexaplan::validator::cuda {
namespace {

/// Algorithms that are tried, and how often each is timed after once for warming up.
constexpr int kCandidates = 8, kTimings = 3;
/// Rows of groups are rounded up to multiples of it when an algorithm is looked for.
constexpr std::int64_t kNearRows = 256;

[[noreturn]] void fail(cublasStatus_t status, const char* call, const char* file, int line) {
  int gpu = -1;
  cudaGetDevice(&gpu);
  throw GpuError{{.library = "cuBLASLt",
                  .call = call,
                  .code = cublasLtGetStatusName(status),
                  .message = cublasLtGetStatusString(status),
                  .file = file,
                  .line = line,
                  .gpu = gpu}};
}

#define HEXAPLAN_CUBLASLT(call)                                                                     \
  do {                                                                                              \
    const cublasStatus_t hexaplan_status = (call);                                                  \
    if (hexaplan_status != CUBLAS_STATUS_SUCCESS) fail(hexaplan_status, #call, __FILE__, __LINE__); \
  } while (false)

cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::Bf16:
      return CUDA_R_16BF;
    case Element::E4m3:
      return CUDA_R_8F_E4M3;
    default:
      return CUDA_R_32F;
  }
}

/// Answers to a product that this library or GPU does not have.
bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

cublasLtMatrixLayoutOpaque_t layout_of(const LtMatrix& m) {
  cublasLtMatrixLayoutOpaque_t layout;
  HEXAPLAN_CUBLASLT(cublasLtMatrixLayoutInit(&layout, type_of(m.element), static_cast<std::uint64_t>(m.rows),
                                             static_cast<std::uint64_t>(m.cols), m.leading));
  return layout;
}

cublasLtMatmulAlgo_t algorithm_of(const TunedAlgorithm& tuned) {
  cublasLtMatmulAlgo_t algorithm;
  static_assert(sizeof algorithm.data == sizeof tuned.data);
  std::memcpy(algorithm.data, tuned.data.data(), sizeof algorithm.data);
  return algorithm;
}

bool is_empty(const TunedAlgorithm& tuned) {
  return tuned == TunedAlgorithm{};
}

/// The form of the nearest number of tokens above: rows of the token matrices.
LtGemm near_form(LtGemm form) {
  const auto rounded = [](std::int64_t rows) { return (rows + kNearRows - 1) / kNearRows * kNearRows; };
  if (form.transpose_second) {  // weight gradient: tokens are summed over
    form.first.cols = form.second.cols = rounded(form.second.cols);
  } else {
    form.second.cols = form.result.cols = rounded(form.second.cols);
  }
  return form;
}

}  // namespace

/// What cuBLASLt is told of a product; made on the stack for every call.
struct LtMatmul::Operands {
  /// `scale`: 1 in device memory, what E4m3 operands are multiplied by.
  Operands(const LtGemm& form, const std::byte* scale)
      : first{layout_of(form.first)}, second{layout_of(form.second)}, result{layout_of(form.result)} {
    HEXAPLAN_CUBLASLT(cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set_operation(CUBLASLT_MATMUL_DESC_TRANSA, form.transpose_first);
    set_operation(CUBLASLT_MATMUL_DESC_TRANSB, form.transpose_second);
    if (form.first.element != Element::E4m3) return;
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale);
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(form.fast_accumulation ? 1 : 0));
  }
  cublasLtMatmulDescOpaque_t product{};
  cublasLtMatrixLayoutOpaque_t first, second, result;

 private:
  void set_operation(cublasLtMatmulDescAttributes_t which, bool transpose) {
    set(which, transpose ? CUBLAS_OP_T : CUBLAS_OP_N);
  }
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t which, Value value) {
    HEXAPLAN_CUBLASLT(cublasLtMatmulDescSetAttribute(&product, which, &value, sizeof value));
  }
};

LtMatmul::LtMatmul(std::string_view gpu_name, DevicePool& pool, const Queue& queue)
    : pool_{pool}, queue_{queue}, tuned_{gemm_cache_file(gpu_name, cublasLtGetVersion())} {
  HEXAPLAN_CUBLASLT(cublasLtCreate(&handle_));
  HEXAPLAN_CUDA(cudaEventCreate(&begin_));
  HEXAPLAN_CUDA(cudaEventCreate(&end_));
  workspace_ = pool_.take_for("gemm.workspace", kWorkspaceBytes);
}

LtMatmul::~LtMatmul() {
  if (scale_ != nullptr) pool_.give_back(scale_, sizeof(float));
  pool_.give_back(workspace_, kWorkspaceBytes);
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
  cublasLtDestroy(handle_);
}

/// Frameworks scale each tensor by a number in device memory, and so do these products, by 1: what is timed
/// is the same.
void LtMatmul::provide_scale(const LtGemm& form) {
  if (form.first.element != Element::E4m3 || scale_ != nullptr) return;
  scale_ = pool_.take_for("gemm.scale", sizeof(float));
  fill(queue_, {scale_, Element::F32, 1, 1, 1}, 1);
}

bool LtMatmul::takes(const Gemm& g) {
  const std::optional<LtGemm> form = to_cublaslt(g);
  if (!form) return false;
  provide_scale(*form);
  return !candidates(*form, 1).empty();
}

void LtMatmul::run(const Gemm& g) {
  if (g.c.elements() == 0) return;
  const std::int64_t depth = g.transpose_a ? g.a.rows : g.a.cols;
  if (depth == 0) {
    if (!g.accumulate) fill(queue_, g.c, 0);
    return;
  }
  const std::optional<LtGemm> form = to_cublaslt(g);
  if (!form) return run_own(g);
  provide_scale(*form);
  const TunedAlgorithm* tuned = tuned_.find(*form);
  if (tuned == nullptr) {
    tuned_.keep(*form, {});
    if (const TunedAlgorithm found = fastest(*form, g); !is_empty(found)) tuned_.add(*form, found);
    tuned = tuned_.find(*form);
  }
  if (is_empty(*tuned) || !run_with(*tuned, *form, g)) run_own(g);
}

void LtMatmul::run_own(const Gemm& g) {
  if (g.a.element == Element::E4m3 || g.b.element == Element::E4m3) {
    throw UnsupportedProduct{"cuBLASLt " + std::to_string(cublasLtGetVersion()) +
                             " has no product of e4m3 operands for " + std::to_string(g.c.rows) + "x" +
                             std::to_string(g.c.cols) + "x" + std::to_string(g.a.cols) +
                             " on this GPU, and own kernels compute on fp32 and bf16"};
  }
  gemm(queue_, g);
}

void LtMatmul::run_grouped(const Gemm& g, std::span<const std::int64_t> offsets) {
  const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
  const auto part = [groups](const View& whole, std::int64_t i) {
    const std::int64_t rows = whole.rows / groups;
    return whole.row_range(i * rows, rows);
  };
  for (std::int64_t i = 0; i < groups; ++i) {
    const std::int64_t first = offsets[static_cast<std::size_t>(i)];
    const std::int64_t rows = offsets[static_cast<std::size_t>(i) + 1] - first;
    Gemm one = g;
    one.a = g.a.row_range(first, rows);
    one.b = g.transpose_a ? g.b.row_range(first, rows) : part(g.b, i);
    one.c = g.transpose_a ? part(g.c, i) : g.c.row_range(first, rows);
    run_group(one);
  }
}

void LtMatmul::run_group(const Gemm& g) {
  const std::optional<LtGemm> form = to_cublaslt(g);
  if (g.a.elements() == 0 || g.c.elements() == 0 || !form) {
    if (g.c.elements() > 0 && g.a.elements() > 0) return run_own(g);
    if (g.c.elements() > 0 && !g.accumulate) fill(queue_, g.c, 0);
    return;
  }
  provide_scale(*form);
  const LtGemm near = near_form(*form);
  const TunedAlgorithm* known = near_.find(near);
  if (known == nullptr) {
    const std::vector<TunedAlgorithm> found = candidates(near, 1);
    near_.keep(near, found.empty() ? TunedAlgorithm{} : found.front());
    known = near_.find(near);
  }
  if (!is_empty(*known) && run_with(*known, *form, g)) return;
  const std::vector<TunedAlgorithm> exact = candidates(*form, 1);
  if (exact.empty() || !run_with(exact.front(), *form, g)) run_own(g);
}

/// False where the algorithm does not take this product.
bool LtMatmul::run_with(const TunedAlgorithm& tuned, const LtGemm& form, const Gemm& g) {
  Operands operands{form, scale_};
  const cublasLtMatmulAlgo_t algorithm = algorithm_of(tuned);
  const float one = 1, beta = form.accumulate ? 1 : 0;
  const cublasStatus_t status =
      cublasLtMatmul(handle_, &operands.product, &one, g.b.data, &operands.first, g.a.data, &operands.second,
                     &beta, g.c.data, &operands.result, g.c.data, &operands.result, &algorithm, workspace_,
                     kWorkspaceBytes, static_cast<cudaStream_t>(queue_.stream));
  if (is_refusal(status)) return false;
  HEXAPLAN_CUBLASLT(status);
  return true;
}

std::vector<TunedAlgorithm> LtMatmul::candidates(const LtGemm& form, int most) const {
  Operands operands{form, scale_};
  cublasLtMatmulPreferenceOpaque_t preference{};
  HEXAPLAN_CUBLASLT(cublasLtMatmulPreferenceInit(&preference));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    HEXAPLAN_CUBLASLT(cublasLtMatmulPreferenceSetAttribute(&preference, which, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, form.first.alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, form.second.alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, form.result.alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, form.result.alignment);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, &operands.product, &operands.first, &operands.second, &operands.result, &operands.result,
      &preference, most, results.data(), &found);
  std::vector<TunedAlgorithm> algorithms;
  if (is_refusal(status)) return algorithms;
  HEXAPLAN_CUBLASLT(status);
  for (const cublasLtMatmulHeuristicResult_t& result :
       std::span{results}.first(static_cast<std::size_t>(found))) {
    if (result.state != CUBLAS_STATUS_SUCCESS) continue;
    TunedAlgorithm& algorithm = algorithms.emplace_back();
    std::memcpy(algorithm.data.data(), result.algo.data, sizeof result.algo.data);
    algorithm.workspace = result.workspaceSize;
  }
  return algorithms;
}

TunedAlgorithm LtMatmul::fastest(const LtGemm& form, const Gemm& g) {
  const std::vector<TunedAlgorithm> all = candidates(form, kCandidates);
  if (all.size() < 2) return all.empty() ? TunedAlgorithm{} : all.front();
  // Trials write beside the result: it may be added to, and only once.
  const std::size_t bytes = static_cast<std::size_t>(g.c.rows * g.c.stride) * bytes_of(g.c.element);
  std::byte* const beside = pool_.try_take(bytes);
  if (beside == nullptr) return all.front();
  Gemm trial = g;
  trial.c.data = beside;
  float best = std::numeric_limits<float>::max();
  TunedAlgorithm chosen;
  for (const TunedAlgorithm& candidate : all) {
    const float milliseconds = time(candidate, form, trial);
    if (milliseconds < best) {
      best = milliseconds;
      chosen = candidate;
    }
  }
  pool_.give_back(beside, bytes);
  return chosen;
}

float LtMatmul::time(const TunedAlgorithm& algorithm, const LtGemm& form, const Gemm& g) {
  const auto stream = static_cast<cudaStream_t>(queue_.stream);
  float best = std::numeric_limits<float>::max();
  for (int i = 0; i <= kTimings; ++i) {
    HEXAPLAN_CUDA(cudaEventRecord(begin_, stream));
    if (!run_with(algorithm, form, g)) return best;
    HEXAPLAN_CUDA(cudaEventRecord(end_, stream));
    HEXAPLAN_CUDA(cudaEventSynchronize(end_));
    float milliseconds = 0;
    HEXAPLAN_CUDA(cudaEventElapsedTime(&milliseconds, begin_, end_));
    if (i > 0) best = std::min(best, milliseconds);
  }
  return best;
}

}  // namespace hexaplan::validator::cuda
