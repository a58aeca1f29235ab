#include "validator/executor/device/cuda/runtime/cuda_device.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>

#include "validator/executor/device/cuda/gpu_error.h"
#include "validator/executor/device/cuda/runtime/check.h"

namespace hexaplan::validator::cuda {
namespace {

/// bf16 products with fp32 sums, asynchronous copies to shared memory: Ampere and newer.
constexpr int kOldestMajor = 8;
/// fp8 in the tensor cores: Ada (8.9), Hopper and newer (CUDA C++ Programming Guide, compute capabilities).
constexpr int kFp8Major = 8, kFp8Minor = 9;

/// What this process's context took when it was made, by GPU: it is made once, whoever opens the GPU again.
/// Both readings are the driver's own, whose `used` counts what it reserves for itself (NVML API reference,
/// nvmlMemory_t), 0.6 GB of an H200, while cudaMemGetInfo leaves that out of its total. Nothing where other
/// processes gave back more in between than the context took.
std::optional<std::int64_t> make_context(const Nvml& nvml, int gpu) {
  static std::mutex mutex;
  static std::map<int, std::optional<std::int64_t>> made;
  const std::lock_guard lock{mutex};
  const auto found = made.find(gpu);
  const std::optional<std::int64_t> before = nvml.used_bytes();
  HEXAPLAN_CUDA(cudaSetDevice(gpu));
  HEXAPLAN_CUDA(cudaFree(nullptr));  // older runtimes make the context with the first call that needs one
  if (found != made.end()) return found->second;
  const std::optional<std::int64_t> after = nvml.used_bytes();
  std::optional<std::int64_t>& bytes = made[gpu];
  if (before && after && *after > *before) bytes = *after - *before;
  return bytes;
}

MemoryDiary open_context(const Nvml& nvml, int gpu) {
  const std::optional<std::int64_t> bytes = make_context(nvml, gpu);
  MemoryDiary diary;
  diary.context_made(bytes);
  return diary;
}

std::string version_text(int version, int thousand) {
  return std::to_string(version / thousand) + "." + std::to_string(version % thousand / 10);
}

}  // namespace

OpenedGpu::OpenedGpu(int wanted) {
  int count = 0;
  HEXAPLAN_CUDA(cudaGetDeviceCount(&count));
  gpu = wanted % count;
  cudaDeviceProp properties{};
  HEXAPLAN_CUDA(cudaGetDeviceProperties(&properties, gpu));
  name = properties.name;
  major = properties.major;
  minor = properties.minor;
  multiprocessors = properties.multiProcessorCount;
  if (major < kOldestMajor) {
    throw GpuError{{.library = "CUDA",
                    .call = "cudaGetDeviceProperties",
                    .code = "cudaErrorNoKernelImageForDevice",
                    .message = name + " is sm_" + std::to_string(major) + std::to_string(minor),
                    .file = __FILE__,
                    .line = __LINE__,
                    .gpu = gpu}};
  }
  constexpr int kLongest = 32;
  std::array<char, kLongest> address{};
  HEXAPLAN_CUDA(cudaDeviceGetPCIBusId(address.data(), kLongest, gpu));
  pci_address = address.data();
}

CudaDevice::CudaDevice(const CudaDeviceOptions& options)
    : gpu_{options.gpu},
      element_{options.element},
      nvml_{gpu_.pci_address},
      diary_{open_context(nvml_, gpu_.gpu)},
      pool_{gpu_.gpu, compute_stream_.raw()},
      staging_{compute_stream_.raw()} {
  compute_ = {.stream = compute_stream_.raw(), .scratch = pool_.take_for("kernels.scratch", kScratchBytes)};
  communication_ = {.stream = communication_stream_.raw(),
                    .scratch = pool_.take_for("kernels.scratch", kScratchBytes)};
  HEXAPLAN_CUDA(cudaStreamSynchronize(compute_stream_.raw()));
  diary_.note("streams, scratch of kernels, pool");
  products_ = std::make_unique<LtMatmul>(gpu_.name, pool_, compute_);
  HEXAPLAN_CUDA(cudaStreamSynchronize(compute_stream_.raw()));
  diary_.note("cuBLASLt and its workspace");
  attention_ = std::make_unique<FusedAttention>(options.attention, pool_, compute_);
  diary_.note("cuDNN");
  reserved_at_start_ = pool_.reserved();
}

CudaDevice::~CudaDevice() {
  cudaStreamSynchronize(communication_stream_.raw());
  cudaStreamSynchronize(compute_stream_.raw());
  attention_.reset();
  products_.reset();
  pool_.give_back(compute_.scratch, kScratchBytes);
  pool_.give_back(communication_.scratch, kScratchBytes);
}

std::string CudaDevice::description() const {
  return "cuda:" + std::to_string(gpu_.gpu) + " " + gpu_.name +
         (element_ == Element::Bf16 ? ", bfloat16" : ", float32");
}

Element CudaDevice::element_of(costmodel::DType dtype) const {
  return stored_element(dtype, Element::F32, element_);
}

std::vector<costmodel::Precision> CudaDevice::narrow_gemms() {
  const bool has_units = gpu_.major > kFp8Major || (gpu_.major == kFp8Major && gpu_.minor >= kFp8Minor);
  if (!has_units || element_ != Element::Bf16) return {};
  constexpr std::int64_t kSide = 4096;
  const auto square = [](Element element) { return View{nullptr, element, kSide, kSide, kSide}; };
  const Gemm product{.a = square(Element::E4m3),
                     .b = square(Element::E4m3),
                     .c = square(Element::Bf16),
                     .transpose_b = true};
  if (!products_->takes(product)) return {};
  return {costmodel::Precision::Fp8};
}

void CudaDevice::run_copy(const View& to, const View& from, Stream stream) {
  if (to.element == from.element && to.contiguous() && from.contiguous() && to.elements() > 0) {
    HEXAPLAN_CUDA(cudaMemcpyAsync(to.data, from.data, to.bytes(), cudaMemcpyDefault, ordered(stream).raw()));
    return;
  }
  cuda::copy(queue(stream), to, from);
}

void CudaDevice::synchronize() {
  HEXAPLAN_CUDA(cudaStreamSynchronize(compute_stream_.raw()));
  HEXAPLAN_CUDA(cudaStreamSynchronize(communication_stream_.raw()));
}

std::vector<DeviceFact> CudaDevice::facts() {
  synchronize();
  std::vector<DeviceFact> facts;
  const auto text = [&](const char* name, std::string value) {
    facts.push_back({name, 0, {}, std::move(value)});
  };
  const auto bytes = [&](std::string_view name, std::int64_t value) {
    facts.push_back({std::string{name}, static_cast<double>(value), "bytes", {}});
  };
  int driver = 0, runtime = 0;
  HEXAPLAN_CUDA(cudaDriverGetVersion(&driver));
  HEXAPLAN_CUDA(cudaRuntimeGetVersion(&runtime));
  text("GPU", gpu_.name);
  text("compute capability", "sm_" + std::to_string(gpu_.major) + std::to_string(gpu_.minor));
  facts.push_back({"multiprocessors", static_cast<double>(gpu_.multiprocessors), "of them", {}});
  text("CUDA of the driver", version_text(driver, 1000));
  text("CUDA runtime", version_text(runtime, 1000));
  text("cuBLASLt", std::to_string(cublasLtGetVersion()));
  text("attention", attention_->library().empty() ? "own kernels" : attention_->library());
  for (DeviceFact& fact : nvml_.facts()) facts.push_back(std::move(fact));
  facts.insert(facts.end(), diary_.entries().begin(), diary_.entries().end());
  const std::int64_t now = MemoryDiary::used_now();
  bytes("in use on the GPU, all processes", now);
  // Modules are loaded when a kernel is first used.
  const std::int64_t modules = now - diary_.last() - (pool_.reserved() - reserved_at_start_);
  bytes("modules loaded since the start, and other processes", std::max<std::int64_t>(modules, 0));
  facts.back().fixed = diary_.knows_context();  // alone they are not what is taken whatever runs
  bytes("pool: asked for at most", pool_.requested_high());
  bytes("pool: handed out at most, rounded up", pool_.used_high());
  bytes(kPoolFact, pool_.reserved_high());
  bytes("largest scratch of one attention call", attention_->scratch_high());
  for (std::string& warning : attention_->warnings()) text("warning", std::move(warning));
  return facts;
}

}  // namespace hexaplan::validator::cuda
