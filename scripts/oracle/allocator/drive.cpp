// Runs calls from standard input through PyTorch's own CUDACachingAllocator (libc10_cuda.so) over
// fake_cuda.cpp:
//   a ID BYTES STREAM   allocate        f ID   free           r ID STREAM   record_stream
//   c STREAM            its work is done                      e             empty_cache
// Answers each with what is allocated and reserved; -1 where an allocation ran out of memory.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/cuda/PeerToPeerAccess.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>

extern "C" void fake_cuda_complete(cudaStream_t stream);
namespace c10::cuda::_internal {
void setHasPrimaryContext(bool (*has)(c10::DeviceIndex));  // torch itself sets it
}

namespace {
cudaStream_t raw(std::uintptr_t number) {
  return reinterpret_cast<cudaStream_t>(16 * number);
}  // odd ones mean PyTorch's own
c10::cuda::CUDAStream stream_of(std::uintptr_t number) {
  return c10::cuda::getStreamFromExternal(raw(number), 0);
}
}  // namespace

int main(int argc, char** argv) {
  namespace pytorch = c10::cuda::CUDACachingAllocator;
  c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
  c10::cuda::detail::init_p2p_access_cache(1);
  pytorch::init(1);
  if (argc > 1) pytorch::setMemoryFraction(std::atof(argv[1]), 0);  // without it no garbage is collected
  std::map<std::int64_t, c10::DataPtr> alive;
  char call = 0;
  for (std::int64_t id = 0, bytes = 0, stream = 0; std::cin >> call;) {
    bool failed = false;
    if (call == 'a') {
      std::cin >> id >> bytes >> stream;
      c10::cuda::setCurrentCUDAStream(stream_of(stream));
      try {
        alive.insert_or_assign(id, pytorch::get()->allocate(bytes));
      } catch (const c10::OutOfMemoryError&) {
        failed = true;
      }
    } else if (call == 'f') {
      std::cin >> id;
      alive.erase(id);
    } else if (call == 'r') {
      std::cin >> id >> stream;
      if (alive.contains(id)) pytorch::get()->recordStream(alive.at(id), stream_of(stream));
    } else if (call == 'c') {
      std::cin >> stream;
      fake_cuda_complete(raw(stream));
    } else {
      pytorch::emptyCache();
    }
    const auto stats = pytorch::getDeviceStats(0);
    std::cout << (failed ? -1 : stats.allocated_bytes[0].current) << ' ' << stats.reserved_bytes[0].current
              << '\n';
  }
  for (auto& [id, pointer] : alive) pointer.release_context();
}
