#include "validator/executor/device/cuda/gpu_error.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hexaplan::validator {
namespace {

/// Meanings: CUDA Runtime API reference, enum cudaError; cuBLAS and cuDNN status tables; NCCL's ncclResult_t.
constexpr GpuHint kHints[] = {
    {"cudaErrorNoDevice", "no GPU is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES"},
    {"cudaErrorInvalidDevice",
     "fewer GPUs are visible than there are ranks (CUDA_VISIBLE_DEVICES); of a GPU in MIG mode a process "
     "sees one part alone"},
    {"cudaErrorPeerAccessUnsupported",
     "these GPUs do not reach each other's memory (nvidia-smi topo -p2p r): NCCL_P2P_DISABLE=1 goes by way "
     "of the host"},
    {"cudaErrorTooManyPeers",
     "a GPU without a switch has eight peers: NCCL_P2P_DISABLE=1, or fewer ranks a host"},
    {"cudaErrorNvlinkUncorrectable", "an error of NVLink: nvidia-smi nvlink -e; take the GPU out of service"},
    {"cudaErrorStubLibrary",
     "the toolkit's stub of libcuda is found before the driver's: take its folder off LD_LIBRARY_PATH"},
    {"cudaErrorInsufficientDriver",
     "the driver is older than this CUDA runtime, or none is installed: update the NVIDIA driver"},
    {"cudaErrorSystemDriverMismatch", "driver and its libraries differ in version: reboot, or reinstall it"},
    {"cudaErrorSystemNotReady", "the fabric manager is not running: start nvidia-fabricmanager"},
    {"cudaErrorCompatNotSupportedOnDevice",
     "remove the compatibility libcuda from LD_LIBRARY_PATH: this GPU takes none"},
    {"cudaErrorDevicesUnavailable",
     "another process holds the GPU exclusively: see nvidia-smi, compute mode"},
    {"cudaErrorMemoryAllocation",
     "other processes may hold memory (nvidia-smi); fewer tokens per micro-batch, recomputation or a higher "
     "ZeRO stage need less"},
    {"cudaErrorNoKernelImageForDevice", "this build has code for sm_80 and newer"},
    {"cudaErrorUnsupportedPtxVersion", "the driver is older than the toolkit of this build: update it"},
    {"cudaErrorIllegalAddress",
     "a kernel went astray; the GPU's context is lost and the process has to end: compute-sanitizer finds "
     "it"},
    {"cudaErrorECCUncorrectable", "a memory error of the GPU: nvidia-smi -q -d ECC; take it out of service"},
    {"cudaErrorLaunchFailure",
     "a kernel died; the GPU's context is lost and the process has to end: see Xid messages in dmesg"},
    {"CUBLAS_STATUS_NOT_INITIALIZED", "often a lack of GPU memory when cuBLAS starts"},
    {"CUBLAS_STATUS_ARCH_MISMATCH", "this GPU lacks what the product needs: sm_80 or newer is required"},
    {"CUDNN_STATUS_NOT_INITIALIZED", "often a lack of GPU memory when cuDNN starts"},
    {"CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED",
     "parts of cuDNN are missing: install all of libcudnn_*.so of one version"},
    {"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "parts of cuDNN are of several versions: install one"},
    {"ncclSystemError",
     "see NCCL_DEBUG=INFO for the system call; often too small a /dev/shm, a firewall, or a network card "
     "that is not meant: NCCL_SOCKET_IFNAME and NCCL_IB_HCA name the right ones"},
    {"ncclInternalError",
     "often NCCL of several versions on the hosts, or a network plugin: see NCCL_DEBUG=INFO; "
     "NCCL_NET_PLUGIN=none leaves plugins out"},
    {"ncclInvalidArgument", "often a variable NCCL_… with a value that NCCL does not take: env | grep NCCL_"},
    {"ncclRemoteError", "another rank failed first: its own message says why"},
    {"ncclInvalidUsage",
     "two ranks may share a GPU, or be parts of one in MIG mode, which NCCL refuses; see NCCL_DEBUG=INFO"},
    {"ncclUnhandledCudaError", "see NCCL_DEBUG=INFO for the CUDA call that failed"},
};

std::string text_of(const GpuCall& call) {
  std::string text{call.library};
  text += ": " + call.call + " failed with " + call.code;
  if (!call.message.empty()) text += " (" + call.message + ")";
  // From the repository's root on: where the build lay says nothing.
  std::string_view file{call.file};
  if (const auto at = file.rfind("validator/"); at != std::string_view::npos) file.remove_prefix(at);
  if (!file.empty()) text += " at " + std::string{file} + ":" + std::to_string(call.line);
  if (call.gpu >= 0) text += " on GPU " + std::to_string(call.gpu);
  if (const std::string_view hint = hint_for(call.code); !hint.empty()) text += "; " + std::string{hint};
  return text;
}

}  // namespace

GpuError::GpuError(GpuCall call) : std::runtime_error{text_of(call)}, call_{std::move(call)} {}

std::span<const GpuHint> gpu_hints() {
  return kHints;
}

std::string_view hint_for(std::string_view code) {
  const auto* found = std::find_if(std::begin(kHints), std::end(kHints),
                                   [&](const GpuHint& hint) { return hint.code == code; });
  return found == std::end(kHints) ? std::string_view{} : found->text;
}

}  // namespace hexaplan::validator
