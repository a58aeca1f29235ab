#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "validator/executor/device/cuda/attention_library.h"
#include "validator/executor/device/cuda/kernels/kernels.h"
#include "validator/executor/device/cuda/runtime/device_pool.h"

namespace hexaplan::validator::cuda {

/// Attention by cuDNN where it takes the block, else by own kernels, which are right and slow.
class FusedAttention {
 public:
  /// `library` may be nullptr.
  FusedAttention(AttentionLibrary* library, DevicePool& pool, const Queue& queue);

  void forward(const AttentionBlock& block, const View& q, const View& k, const View& v, const View& o,
               const View& lse);
  void backward(const AttentionBlock& block, const View& q, const View& k, const View& v, const View& d_o,
                const View& lse, const View& delta, const View& dq, const View& dk, const View& dv);

  [[nodiscard]] std::string library() const { return library_; }
  /// Largest scratch of one call so far.
  [[nodiscard]] std::int64_t scratch_high() const { return scratch_high_; }
  /// Blocks that own kernels computed, and why.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  using Direction = AttentionEngine::Direction;
  /// A form of a block that cuDNN takes, and the bytes of scratch that it asks for.
  struct Fused {
    AttentionShape shape;
    std::size_t scratch;
  };
  /// The first of `forms` that cuDNN takes, or nothing: own kernels.
  [[nodiscard]] std::optional<Fused> fused(Direction direction, const AttentionBlock& block,
                                           std::span<const AttentionShape> forms,
                                           std::initializer_list<View> operands);
  void fused_backward(const AttentionBlock& block, const Fused& form, const View& q, const View& k,
                      const View& v, const View& d_o, const View& lse, const View& delta, const View& dq,
                      const View& dk, const View& dv);

  DevicePool& pool_;
  Queue queue_;
  std::unique_ptr<AttentionEngine> engine_;
  std::string library_;
  std::set<std::string> refused_;
  std::int64_t scratch_high_ = 0;
};

}  // namespace hexaplan::validator::cuda
