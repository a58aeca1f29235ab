// Modules of a machine with four GPUs that are not there: the program finds and counts them, plans for them
// and asks for their devices; each says which it is instead of working.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "validator/executor/communicator/nccl/nccl_functions.h"
#include "validator/executor/device/cuda/cuda_module.h"

namespace {

using hexaplan::validator::CudaDeviceOptions;
using hexaplan::validator::CudaModule;
using hexaplan::validator::Device;
using hexaplan::validator::LibraryState;

constexpr int kGpus = 4;

LibraryState probe() {
  return {true, std::to_string(kGpus) + " × NVIDIA H200, driver for CUDA 13.0", {}};
}

/// The last one is first to speak, so that it is the one whose words are reported.
std::unique_ptr<Device> make_device(const CudaDeviceOptions& options) {
  if (options.gpu != kGpus - 1) std::this_thread::sleep_for(std::chrono::seconds{1});
  throw std::runtime_error{"GPU " + std::to_string(options.gpu) + " is a stand-in"};
}

}  // namespace

extern "C" const CudaModule* hexaplan_cuda() {
  static const CudaModule module{.probe = probe, .make_device = make_device};
  return &module;
}

/// Ranks fail before they have a communicator: a group of aborts is all that they ask for.
extern "C" const HexaplanNccl* hexaplan_nccl() {
  static const HexaplanNccl functions = [] {
    HexaplanNccl table{};
    table.version = kHexaplanNcclVersion;
    table.library = "stand-in for NCCL";
    table.gpus = [] { return kGpus; };
    table.group_begin = []() -> int { return kHexaplanNcclReady; };
    table.group_end = [](void*) -> int { return kHexaplanNcclReady; };
    return table;
  }();
  return &functions;
}
