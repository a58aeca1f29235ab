#include <algorithm>
#include <string>

#include "presets/json/utf8.h"
#include "presets/runs/device_trace.h"

namespace hexaplan::presets {
namespace {

/// Words in lower case; the first row that a name holds counts.
struct KindWord {
  std::string_view word;
  KernelKind kind;
};
constexpr KindWord kKernelWords[] = {
    {"nccl", KernelKind::Collective},  // and rccl
    {"rccl", KernelKind::Collective},
    {"mscclpp", KernelKind::Collective},
    {"oneccl", KernelKind::Collective},
    {"memcpy", KernelKind::Copy},
    {"memset", KernelKind::Copy},
    {"flash", KernelKind::Attention},
    {"fmha", KernelKind::Attention},
    {"attention", KernelKind::Attention},
    {"sdpa", KernelKind::Attention},
    {"attn", KernelKind::Attention},
    {"multi_tensor", KernelKind::Optimizer},
    {"adam", KernelKind::Optimizer},
    {"lamb_", KernelKind::Optimizer},  // DeepSpeed; "lambda" stands in many names
    {"lambstage", KernelKind::Optimizer},
    {"norm", KernelKind::Norm},
    {"softmax", KernelKind::Norm},
    {"gammabeta", KernelKind::Norm},  // at::native GammaBetaBackward…: of layer norms
    {"gemm", KernelKind::Gemm},
    {"cutlass", KernelKind::Gemm},
    {"nvjet", KernelKind::Gemm},  // cuBLAS on Hopper and Blackwell
    {"cijk_", KernelKind::Gemm},  // hipBLASLt, Tensile
    {"xmma", KernelKind::Gemm},
    {"splitkreduce", KernelKind::Gemm},
    {"splitk", KernelKind::Gemm},
    {"cublas", KernelKind::Gemm},
    {"gemv", KernelKind::Gemm},
    {"triton_mm", KernelKind::Gemm},
    {"triton_tem_", KernelKind::Gemm},
    {"triton_", KernelKind::Elementwise},
    {"elementwise", KernelKind::Elementwise},
    {"reduce_kernel", KernelKind::Elementwise},
    {"copy", KernelKind::Elementwise},
    {"cat", KernelKind::Elementwise},
    {"index", KernelKind::Elementwise},
    {"embedding", KernelKind::Elementwise},
    {"scatter", KernelKind::Elementwise},
    {"gather", KernelKind::Elementwise},
    {"nll_loss", KernelKind::Elementwise},
    {"crossentropy", KernelKind::Elementwise},
    {"cross_entropy", KernelKind::Elementwise},
    {"swiglu", KernelKind::Elementwise},
    {"gelu", KernelKind::Elementwise},
    {"rope", KernelKind::Elementwise},
    {"rotary", KernelKind::Elementwise},
    {"dropout", KernelKind::Elementwise},
    {"transpose", KernelKind::Elementwise},
    {"cast", KernelKind::Elementwise},
};
constexpr KindWord kOperatorWords[] = {
    {"c10d::", KernelKind::Collective},
    {"gloo:", KernelKind::Collective},
    {"record_param_comms", KernelKind::Collective},
    {"attention", KernelKind::Attention},
    {"optimizer", KernelKind::Optimizer},
    {"_fused_adam", KernelKind::Optimizer},
    {"_foreach", KernelKind::Optimizer},
    {"addmm", KernelKind::Gemm},
    {"::mm", KernelKind::Gemm},
    {"bmm", KernelKind::Gemm},
    {"scaled_mm", KernelKind::Gemm},
    {"linear", KernelKind::Gemm},
    {"norm", KernelKind::Norm},
    {"softmax", KernelKind::Norm},
    {"aten::", KernelKind::Elementwise},
};

template <std::size_t N>
KernelKind kind_by_words(std::string_view name, const KindWord (&rows)[N]) {
  const std::string words = lower(name);
  const auto found = std::find_if(std::begin(rows), std::end(rows), [&](const KindWord& row) {
    return words.find(row.word) != std::string::npos;
  });
  return found == std::end(rows) ? KernelKind::Other : found->kind;
}

constexpr std::array<std::string_view, kKernelKinds> kNames = {
    "gemm", "attention", "norm", "elementwise", "optimizer", "collective", "copy", "other"};

/// Words of a message's kind in lower case, without '_' and blanks; the first row that it holds counts.
struct MessageWord {
  std::string_view word;
  costmodel::CollectiveKind kind;
};
constexpr MessageWord kMessageWords[] = {{"allreduce", costmodel::CollectiveKind::AllReduce},
                                         {"allgather", costmodel::CollectiveKind::AllGather},
                                         {"reducescatter", costmodel::CollectiveKind::ReduceScatter},
                                         {"alltoall", costmodel::CollectiveKind::AllToAll},
                                         {"sendrecv", costmodel::CollectiveKind::SendRecv},
                                         {"send", costmodel::CollectiveKind::SendRecv},
                                         {"recv", costmodel::CollectiveKind::SendRecv},
                                         {"broadcast", costmodel::CollectiveKind::Broadcast}};

}  // namespace

std::optional<costmodel::CollectiveKind> collective_of(const TraceMessage& message) {
  std::string words = lower(message.kind);
  std::erase_if(words, [](char c) { return c == '_' || c == ' '; });
  const auto found =
      std::find_if(std::begin(kMessageWords), std::end(kMessageWords),
                   [&](const MessageWord& row) { return words.find(row.word) != std::string::npos; });
  return found == std::end(kMessageWords) ? std::nullopt : std::optional{found->kind};
}

std::string_view name_of(Profiler profiler) {
  return profiler == Profiler::PyTorch ? "PyTorch profiler" : "Nsight Systems";
}
std::string_view name_of(KernelKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}
KernelKind kind_of_kernel(std::string_view name) {
  return kind_by_words(name, kKernelWords);
}
KernelKind kind_of_operator(std::string_view name) {
  return kind_by_words(name, kOperatorWords);
}

}  // namespace hexaplan::presets
