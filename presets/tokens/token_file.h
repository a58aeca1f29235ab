#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace hexaplan::presets {

/// Tokens of a file, every one below `vocab`:
///   *.bin with a neighbour *.idx: Megatron-LM's, whose index says the type (NVIDIA/Megatron-LM
///     megatron/core/datasets/indexed_dataset.py: DType); documents follow one another;
///   *.bin: unsigned whole numbers, little-endian, of 16 bits where those hold the vocabulary
///   (karpathy/nanoGPT
///     data/openwebtext/prepare.py), else of 32;
///   anything else: whole numbers with blanks between them.
/// Throws InputError.
[[nodiscard]] std::vector<std::int32_t> read_token_file(const std::filesystem::path& path,
                                                        std::int64_t vocab);

}  // namespace hexaplan::presets
