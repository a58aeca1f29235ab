#include "validator/executor/backends/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include "validator/executor/communicator/mpi/mpi_ranks.h"
#include "validator/executor/communicator/nccl/nccl_ranks.h"
#include "validator/executor/communicator/solo/solo_ranks.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/device/cpu/instruction_set.h"
#include "validator/executor/device/cpu/thread_team.h"
#include "validator/executor/device/cuda/cuda_module.h"

namespace hexaplan::validator {
namespace {

/// Whether a backend works here; fills in detail and remedy.
using Probe = void (*)(BackendState& state);
using MakeRanks = std::unique_ptr<RankBackend> (*)(const RankRequest& request);
using MakeDevice = std::unique_ptr<Device> (*)(Element element, const DeviceRequest& request);

struct BackendRow {
  const char* name;
  BackendRole role;
  const char* what;
  Probe probe;
  MakeRanks make_ranks = nullptr;
  MakeDevice make_device = nullptr;
  std::span<const Element> elements = {};  // of a device, the default first
};

/// Those that this process may run on.
std::string processors() {
  return fmt::format("{} processors", threads_per_rank(1));
}

void probe_processor(BackendState& state) {
  state.available = true;
  state.detail = processors();
}

void probe_cpu(BackendState& state) {
  try {
    state.detail = fmt::format("{}, {} kernels", processors(), name_of(chosen_instruction_set()));
    state.available = true;
  } catch (const std::runtime_error& error) {
    state.detail = error.what();
    state.remedy = "leave the variable out: the fastest kernels that the processor runs are taken";
  }
}

void probe_mpi(BackendState& state) {
  const MpiLibrary& library = find_mpi();
  state.available = library.functions != nullptr;
  state.detail = state.available ? library.functions->library : library.problem;
  if (!state.available) {
    state.remedy =
        "install Open MPI (Debian: libopenmpi-dev openmpi-bin) and build again, or the package that was "
        "built "
        "with it";
  }
}

void probe_nccl(BackendState& state) {
  const NcclLibrary& library = find_nccl();
  const int gpus = library.functions == nullptr ? 0 : library.functions->gpus();
  state.available = gpus > 0;
  state.gpus = gpus;
  state.detail = library.functions == nullptr
                     ? library.problem
                     : fmt::format("{}, {} GPU{}", library.functions->library, gpus, gpus == 1 ? "" : "s");
  if (library.functions == nullptr) {
    state.remedy =
        "install NCCL 2.18 or newer and build with preset `cuda`, or the package that was built with it";
  } else if (gpus == 0) {
    state.remedy = "run where there is an NVIDIA GPU and its driver";
  }
}

std::unique_ptr<RankBackend> make_nccl_ranks(const RankRequest& request) {
  const NcclLibrary& library = find_nccl();
  if (library.functions == nullptr || library.functions->gpus() == 0) return nullptr;
  return std::make_unique<NcclRanks>(
      *library.functions,
      NcclRanksOptions{.place = find_job_place(request.launch, process_environment()), .gpus = request.gpus});
}

void take_over(BackendState& state, const LibraryState& found) {
  state.available = found.available;
  state.detail = found.detail;
  state.remedy = found.remedy;
}
void probe_cuda(BackendState& state) {
  take_over(state, find_cuda().state);
}
void probe_cudnn(BackendState& state) {
  take_over(state, find_cudnn().state);
}

std::unique_ptr<Device> make_cuda_device(Element element, const DeviceRequest& request) {
  const CudaModule* const cuda = find_cuda().module;
  if (cuda == nullptr) return nullptr;
  return cuda->make_device({.element = element, .gpu = request.gpu, .attention = find_cudnn().library});
}

constexpr std::array kCpuElements{Element::F32, Element::F64, Element::Bf16, Element::F16};
constexpr std::array kCudaElements{Element::Bf16, Element::F32};

constexpr BackendRow kBackends[] = {
    {.name = "cpu",
     .role = BackendRole::Device,
     .what = "float32, float64, bfloat16 and float16 on the host's processors",
     .probe = probe_cpu,
     .make_device =
         [](Element element, const DeviceRequest& request) {
           return make_cpu_device(element, {.threads = request.threads});
         },
     .elements = kCpuElements},
    {.name = "cuda",
     .role = BackendRole::Device,
     .what = "bfloat16 and float32 on NVIDIA GPUs (sm_80 and newer)",
     .probe = probe_cuda,
     .make_device = make_cuda_device,
     .elements = kCudaElements},
    {.name = "cudnn",
     .role = BackendRole::Library,
     .what = "attention of cuda at its rate; without it own kernels run, right and slow",
     .probe = probe_cudnn},
    {.name = "threads",
     .role = BackendRole::Ranks,
     .what = "ranks are threads of one process, on the host or together on one GPU",
     .probe = probe_processor,
     .make_ranks = [](const RankRequest& /*request*/) -> std::unique_ptr<RankBackend> {
       return std::make_unique<ThreadRanks>();
     }},
    {.name = "solo",
     .role = BackendRole::Ranks,
     .what = "one real rank of any layout; what the others would send is made up",
     .probe = probe_processor,
     .make_ranks = [](const RankRequest& request) -> std::unique_ptr<RankBackend> {
       return std::make_unique<SoloRanks>(request.solo_rank);
     }},
    {.name = "mpi",
     .role = BackendRole::Ranks,
     .what = "ranks are processes on one or several hosts, started by mpirun",
     .probe = probe_mpi,
     .make_ranks = [](const RankRequest& /*request*/) { return make_mpi_ranks(); }},
    {.name = "nccl",
     .role = BackendRole::Ranks,
     .what = "ranks are GPUs, one per process or per thread, on one or several hosts",
     .probe = probe_nccl,
     .make_ranks = make_nccl_ranks},
};

struct ElementName {
  Element element;
  const char* name;
};
constexpr ElementName kElementNames[] = {{Element::F64, "f64"},
                                         {Element::F32, "f32"},
                                         {Element::Bf16, "bf16"},
                                         {Element::F16, "f16"},
                                         {Element::I32, "i32"}};

BackendState state_of(const BackendRow& row) {
  BackendState state{.name = row.name, .role = row.role, .what = row.what};
  row.probe(state);
  return state;
}

const BackendRow* row_of(std::string_view name) {
  const auto* row = std::find_if(std::begin(kBackends), std::end(kBackends),
                                 [&](const BackendRow& candidate) { return candidate.name == name; });
  return row == std::end(kBackends) ? nullptr : row;
}

}  // namespace

std::vector<BackendState> list_backends() {
  std::vector<BackendState> states;
  std::transform(std::begin(kBackends), std::end(kBackends), std::back_inserter(states), state_of);
  return states;
}

std::optional<BackendState> find_backend(std::string_view name) {
  const BackendRow* row = row_of(name);
  return row == nullptr ? std::nullopt : std::optional{state_of(*row)};
}

std::vector<std::string> backend_names(BackendRole role) {
  std::vector<std::string> names;
  for (const BackendRow& row : kBackends) {
    if (row.role == role) names.emplace_back(row.name);
  }
  return names;
}

std::unique_ptr<RankBackend> make_rank_backend(std::string_view name, const RankRequest& request) {
  const BackendRow* row = row_of(name);
  return row == nullptr || row->make_ranks == nullptr ? nullptr : row->make_ranks(request);
}

std::vector<Element> elements_of_device(std::string_view name) {
  const BackendRow* row = row_of(name);
  return row == nullptr ? std::vector<Element>{} : std::vector(row->elements.begin(), row->elements.end());
}

Element planned_element(costmodel::DType activations) {
  const Element narrow = activations == costmodel::DType::Fp16 ? Element::F16 : Element::Bf16;
  return stored_element(activations, Element::F32, narrow);
}

std::optional<Element> default_element(std::string_view device, costmodel::DType activations) {
  const BackendRow* row = row_of(device);
  if (row == nullptr || row->elements.empty()) return std::nullopt;
  const Element planned = planned_element(activations);
  const bool has_it = std::find(row->elements.begin(), row->elements.end(), planned) != row->elements.end();
  return has_it ? planned : row->elements.front();
}

std::string_view name_of(Element element) {
  return std::find_if(std::begin(kElementNames), std::end(kElementNames),
                      [&](const ElementName& row) { return row.element == element; })
      ->name;
}

std::optional<Element> element_named(std::string_view name) {
  for (const ElementName& row : kElementNames) {
    if (row.name == name) return row.element;
  }
  return std::nullopt;
}

std::unique_ptr<Device> make_device(std::string_view name, Element element, const DeviceRequest& request) {
  const BackendRow* row = row_of(name);
  return row == nullptr || row->make_device == nullptr ? nullptr : row->make_device(element, request);
}

}  // namespace hexaplan::validator
