#include "validator/executor/device/cuda/runtime/staging.h"

#include <cassert>
#include <cstdint>
#include <optional>

#include "validator/executor/device/cuda/pieces.h"
#include "validator/executor/device/cuda/runtime/check.h"

namespace hexaplan::validator::cuda {

Staging::Staging(cudaStream_t stream) : stream_{stream} {
  for (Half& half : halves_) {
    void* memory = nullptr;
    HEXAPLAN_CUDA(cudaMallocHost(&memory, kHalfBytes));
    half.memory = static_cast<std::byte*>(memory);
    HEXAPLAN_CUDA(cudaEventCreateWithFlags(&half.moved, cudaEventDisableTiming));
  }
}

Staging::~Staging() {
  for (const Half& half : halves_) {
    cudaFreeHost(half.memory);
    cudaEventDestroy(half.moved);
  }
}

void Staging::move(const View& on_gpu, std::byte* staged, cudaMemcpyKind kind) const {
  const std::size_t width = static_cast<std::size_t>(on_gpu.cols) * bytes_of(on_gpu.element);
  const std::size_t pitch =
      on_gpu.rows == 1 ? width : static_cast<std::size_t>(on_gpu.stride) * bytes_of(on_gpu.element);
  const auto rows = static_cast<std::size_t>(on_gpu.rows);
  if (kind == cudaMemcpyHostToDevice) {
    HEXAPLAN_CUDA(cudaMemcpy2DAsync(on_gpu.data, pitch, staged, width, width, rows, kind, stream_));
  } else {
    HEXAPLAN_CUDA(cudaMemcpy2DAsync(staged, width, on_gpu.data, pitch, width, rows, kind, stream_));
  }
}

template <class Host>
void Staging::upload(const View& to, std::span<const Host> from) {
  assert(static_cast<std::int64_t>(from.size()) == to.elements());
  std::size_t turn = 0;
  for_pieces(to, static_cast<std::int64_t>(kHalfBytes / bytes_of(to.element)),
             [&](const View& piece, std::int64_t first) {
               const Half& half = halves_[turn++ % halves_.size()];
               HEXAPLAN_CUDA(cudaEventSynchronize(half.moved));
               encode(half.memory, piece.element, from.data() + first, piece.elements());
               move(piece, half.memory, cudaMemcpyHostToDevice);
               HEXAPLAN_CUDA(cudaEventRecord(half.moved, stream_));
             });
  HEXAPLAN_CUDA(cudaStreamSynchronize(stream_));
}

template <class Host>
void Staging::download(std::span<Host> to, const View& from) {
  assert(static_cast<std::int64_t>(to.size()) == from.elements());
  struct Moving {
    const Half* half;
    View piece;
    std::int64_t first;
  };
  std::optional<Moving> moving;
  const auto arrive = [&] {
    if (!moving) return;
    HEXAPLAN_CUDA(cudaEventSynchronize(moving->half->moved));
    decode(to.data() + moving->first, moving->piece.element, moving->half->memory, moving->piece.elements());
  };
  std::size_t turn = 0;
  for_pieces(from, static_cast<std::int64_t>(kHalfBytes / bytes_of(from.element)),
             [&](const View& piece, std::int64_t first) {
               const Half& half = halves_[turn++ % halves_.size()];
               move(piece, half.memory, cudaMemcpyDeviceToHost);
               HEXAPLAN_CUDA(cudaEventRecord(half.moved, stream_));
               arrive();
               moving = Moving{&half, piece, first};
             });
  arrive();
}

template void Staging::upload(const View&, std::span<const double>);
template void Staging::upload(const View&, std::span<const std::int32_t>);
template void Staging::download(std::span<double>, const View&);
template void Staging::download(std::span<std::int32_t>, const View&);

}  // namespace hexaplan::validator::cuda
