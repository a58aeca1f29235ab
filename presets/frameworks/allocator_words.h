#pragma once
#include <string_view>

#include "costmodel/memory/caching_allocator.h"

namespace hexaplan::presets {

/// Reads the words of PYTORCH_CUDA_ALLOC_CONF, "expandable_segments:True,max_split_size_mb:128"; "default" is
/// what PyTorch does unasked. Words that say nothing of what is reserved in a training step (backend,
/// pinned_…) have no meaning here and are refused. InputError that names `field`.
[[nodiscard]] costmodel::AllocatorSettings allocator_settings(std::string_view words, std::string_view field);

}  // namespace hexaplan::presets
