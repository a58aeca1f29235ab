#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "validator/executor/communicator/nccl/nccl_functions.h"
#include "validator/executor/device/cuda/gpu_error.h"

namespace {

static_assert(kHexaplanNcclIdBytes == NCCL_UNIQUE_ID_BYTES);

/// How long a communicator that is given back may take to end in order.
constexpr std::chrono::seconds kFarewell{5};

/// What makes a communicator that blocks its caller: a thread that NCCL may keep until all ranks have come.
/// Left behind when they never do; it keeps this.
struct Making {
  std::atomic<bool> done{false};
  ncclResult_t result = ncclSuccess;
  ncclComm_t communicator = nullptr;
};

struct Handle {
  ncclComm_t communicator = nullptr;
  std::shared_ptr<Making> making;  // until state() has seen it done
  bool failed = false;
  bool aborted = false;
};

Handle& handle_of(void* communicator) {
  return *static_cast<Handle*>(communicator);
}
cudaStream_t stream_of(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

std::string& error_text() {
  static thread_local std::string text;
  return text;
}

int failed(std::string_view library, const char* call, const char* code, std::string message) {
  error_text() =
      hexaplan::validator::GpuError{
          {.library = library, .call = call, .code = code, .message = std::move(message)}}
          .what();
  return kHexaplanNcclFailed;
}

/// As hints know the codes.
const char* name_of(ncclResult_t result) {
  switch (result) {
    case ncclUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case ncclSystemError:
      return "ncclSystemError";
    case ncclInternalError:
      return "ncclInternalError";
    case ncclInvalidArgument:
      return "ncclInvalidArgument";
    case ncclInvalidUsage:
      return "ncclInvalidUsage";
    case ncclRemoteError:
      return "ncclRemoteError";
    default:
      return ncclGetErrorString(result);
  }
}

int state_of(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return kHexaplanNcclReady;
  if (result == ncclInProgress) return kHexaplanNcclUnderWay;
  const char* const last = ncclGetLastError(nullptr);
  std::string message{ncclGetErrorString(result)};
  if (last != nullptr && *last != '\0') message += std::string{"; "} + last;
  return failed("NCCL", call, name_of(result), std::move(message));
}
int state_of(cudaError_t result, const char* call) {
  return result == cudaSuccess ? int{kHexaplanNcclReady}
                               : failed("CUDA", call, cudaGetErrorName(result), cudaGetErrorString(result));
}

/// Blocking communicators take their work in the caller's thread; others start a thread for every call, which
/// costs about 100 us (NCCL 2.28.9, src/group.cc: groupLaunchNonBlocking), and are asked for by
/// ncclCommGetAsyncError (NCCL user guide, "Fault Tolerance").
ncclConfig_t config(bool blocking) {
  ncclConfig_t settings = NCCL_CONFIG_INITIALIZER;
  settings.blocking = blocking ? 1 : 0;
  return settings;
}

/// `make` runs on a thread of its own, on the caller's GPU.
template <class Make>
void* begin_making(const Make& make) {
  int gpu = 0;
  if (state_of(cudaGetDevice(&gpu), "cudaGetDevice") < 0) return nullptr;
  auto handle = std::make_unique<Handle>();
  handle->making = std::make_shared<Making>();
  std::thread{[making = handle->making, make, gpu] {
    cudaSetDevice(gpu);
    making->result = make(making->communicator);
    making->done = true;
  }}.detach();
  return handle.release();
}

ncclDataType_t type_of(int type) {
  constexpr std::array kTypes{ncclFloat64, ncclFloat32, ncclBfloat16, ncclInt32, ncclFloat16, ncclUint8};
  return kTypes.at(static_cast<std::size_t>(type));
}
ncclRedOp_t reduction_of(int reduction) {
  return reduction == kHexaplanNcclSum ? ncclSum : ncclMax;
}

const char* library() {
  static const std::string name = [] {
    int code = 0;
    ncclGetVersion(&code);
    // NCCL_VERSION of nccl.h: major · 10000 + minor · 100 + patch.
    return "NCCL " + std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
           std::to_string(code % 100);
  }();
  return name.c_str();
}

int gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

int adopt(void* stream) {
  if (stream == nullptr) {
    error_text() = "NCCL exchanges the memory of GPUs only: use --device cuda, or --ranks threads";
    return kHexaplanNcclFailed;
  }
#if CUDART_VERSION < \
    12080  // before, streams do not say whose they are: the thread that made the device knows
  return kHexaplanNcclReady;
#else
  int gpu = 0;
  const int state = state_of(cudaStreamGetDevice(stream_of(stream), &gpu), "cudaStreamGetDevice");
  return state == kHexaplanNcclReady ? state_of(cudaSetDevice(gpu), "cudaSetDevice") : state;
#endif
}

std::int64_t free_bytes() {
  std::size_t free = 0, total = 0;
  return cudaMemGetInfo(&free, &total) == cudaSuccess ? static_cast<std::int64_t>(free) : 0;
}

const char* last_error() {
  return error_text().c_str();
}

int make_id(char* id) {
  ncclUniqueId unique{};
  const int state = state_of(ncclGetUniqueId(&unique), "ncclGetUniqueId");
  std::copy(std::begin(unique.internal), std::end(unique.internal), id);
  return state;
}

ncclUniqueId id_of(const char* id) {
  ncclUniqueId unique{};
  std::copy(id, id + kHexaplanNcclIdBytes, unique.internal);
  return unique;
}

void* join(const char* id, int rank, int size) {
  return begin_making([unique = id_of(id), rank, size](ncclComm_t& communicator) {
    ncclConfig_t settings = config(true);
    return ncclCommInitRankConfig(&communicator, size, unique, rank, &settings);
  });
}

void* join_unblocked(const char* id, int rank, int size) {
  ncclConfig_t settings = config(false);
  auto handle = std::make_unique<Handle>();
  const ncclResult_t result = ncclCommInitRankConfig(&handle->communicator, size, id_of(id), rank, &settings);
  return state_of(result, "ncclCommInitRankConfig") < 0 ? nullptr : handle.release();
}

void* split(void* parent, int colour, int key) {
  return begin_making([from = handle_of(parent).communicator, colour, key](ncclComm_t& communicator) {
    ncclConfig_t settings = config(true);
    return ncclCommSplit(from, colour < 0 ? NCCL_SPLIT_NOCOLOR : colour, key, &communicator, &settings);
  });
}

int state(void* communicator) {
  Handle& handle = handle_of(communicator);
  if (handle.making) {
    if (!handle.making->done) return kHexaplanNcclUnderWay;
    handle.communicator = handle.making->communicator;
    const int made = state_of(handle.making->result, "NCCL");
    handle.making = nullptr;
    handle.failed = made != kHexaplanNcclReady;
  }
  if (handle.failed) return kHexaplanNcclFailed;
  if (handle.communicator == nullptr) return kHexaplanNcclReady;  // a rank of no part
  ncclResult_t result = ncclSuccess;
  const ncclResult_t answer = ncclCommGetAsyncError(handle.communicator, &result);
  return state_of(answer == ncclSuccess ? result : answer, "NCCL");
}

void release(void* communicator) {
  const std::unique_ptr<Handle> handle{&handle_of(communicator)};
  if (handle->communicator == nullptr || handle->aborted) return;
  ncclResult_t result = ncclCommFinalize(handle->communicator);
  const auto deadline = std::chrono::steady_clock::now() + kFarewell;
  while (result == ncclInProgress && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    if (ncclCommGetAsyncError(handle->communicator, &result) != ncclSuccess) break;
  }
  if (result == ncclSuccess) {
    ncclCommDestroy(handle->communicator);
  } else {
    ncclCommAbort(handle->communicator);
  }
}

void abort_communicator(void* communicator) {
  Handle& handle = handle_of(communicator);
  if (handle.communicator != nullptr && !handle.aborted) ncclCommAbort(handle.communicator);
  handle.aborted = true;
}

int all_reduce(void* communicator, void* stream, void* data, std::int64_t count, int type, int reduction) {
  return state_of(
      ncclAllReduce(data, data, static_cast<std::size_t>(count), type_of(type), reduction_of(reduction),
                    handle_of(communicator).communicator, stream_of(stream)),
      "ncclAllReduce");
}
int reduce_scatter(void* communicator, void* stream, const void* in, void* out, std::int64_t count, int type,
                   int reduction) {
  return state_of(
      ncclReduceScatter(in, out, static_cast<std::size_t>(count), type_of(type), reduction_of(reduction),
                        handle_of(communicator).communicator, stream_of(stream)),
      "ncclReduceScatter");
}
int all_gather(void* communicator, void* stream, const void* in, void* out, std::int64_t count, int type) {
  return state_of(ncclAllGather(in, out, static_cast<std::size_t>(count), type_of(type),
                                handle_of(communicator).communicator, stream_of(stream)),
                  "ncclAllGather");
}
int broadcast(void* communicator, void* stream, void* data, std::int64_t count, int type, int root) {
  return state_of(ncclBroadcast(data, data, static_cast<std::size_t>(count), type_of(type), root,
                                handle_of(communicator).communicator, stream_of(stream)),
                  "ncclBroadcast");
}
int group_begin() {
  return state_of(ncclGroupStart(), "ncclGroupStart");
}
int group_end(void* /*communicator*/) {
  return state_of(ncclGroupEnd(), "ncclGroupEnd");
}
int send(void* communicator, void* stream, const void* data, std::int64_t count, int type, int to) {
  return state_of(ncclSend(data, static_cast<std::size_t>(count), type_of(type), to,
                           handle_of(communicator).communicator, stream_of(stream)),
                  "ncclSend");
}
int receive(void* communicator, void* stream, void* data, std::int64_t count, int type, int from) {
  return state_of(ncclRecv(data, static_cast<std::size_t>(count), type_of(type), from,
                           handle_of(communicator).communicator, stream_of(stream)),
                  "ncclRecv");
}

void* make_stream() {
  cudaStream_t stream = nullptr;
  const int state =
      state_of(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return state == kHexaplanNcclReady ? stream : nullptr;
}
void release_stream(void* stream) {
  cudaStreamDestroy(stream_of(stream));
}
void* mark(void* stream) {
  cudaEvent_t event = nullptr;
  if (state_of(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags") < 0)
    return nullptr;
  if (state_of(cudaEventRecord(event, stream_of(stream)), "cudaEventRecord") >= 0) return event;
  cudaEventDestroy(event);
  return nullptr;
}
void* timed_mark(void* stream) {
  cudaEvent_t event = nullptr;
  if (state_of(cudaEventCreate(&event), "cudaEventCreate") < 0) return nullptr;
  if (state_of(cudaEventRecord(event, stream_of(stream)), "cudaEventRecord") >= 0) return event;
  cudaEventDestroy(event);
  return nullptr;
}
double between(void* begin, void* end) {
  float milliseconds = 0;
  const auto last = static_cast<cudaEvent_t>(end);
  if (cudaEventSynchronize(last) != cudaSuccess ||
      cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(begin), last) != cudaSuccess)
    return 0;
  return milliseconds * 1e-3;
}
int passed(void* mark) {
  const cudaError_t result = cudaEventQuery(static_cast<cudaEvent_t>(mark));
  return result == cudaErrorNotReady ? kHexaplanNcclUnderWay : state_of(result, "cudaEventQuery");
}
void wait(void* stream, void* mark) {
  cudaStreamWaitEvent(stream_of(stream), static_cast<cudaEvent_t>(mark), 0);
}
void release_mark(void* mark) {
  cudaEventDestroy(static_cast<cudaEvent_t>(mark));
}

}  // namespace

const HexaplanNccl* hexaplan_nccl() {
  static const HexaplanNccl functions{
      .version = kHexaplanNcclVersion,
      .library = library(),
      .gpus = gpus,
      .adopt = adopt,
      .free_bytes = free_bytes,
      .last_error = last_error,
      .make_id = make_id,
      .join = join,
      .join_unblocked = join_unblocked,
      .split = split,
      .state = state,
      .release = release,
      .abort = abort_communicator,
      .all_reduce = all_reduce,
      .reduce_scatter = reduce_scatter,
      .all_gather = all_gather,
      .broadcast = broadcast,
      .group_begin = group_begin,
      .group_end = group_end,
      .send = send,
      .receive = receive,
      .make_stream = make_stream,
      .release_stream = release_stream,
      .mark = mark,
      .passed = passed,
      .wait = wait,
      .release_mark = release_mark,
      .timed_mark = timed_mark,
      .between = between,
  };
  return &functions;
}
