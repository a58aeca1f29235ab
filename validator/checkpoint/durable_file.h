#pragma once
#include <string>
#include <string_view>

namespace hexaplan::validator {

/// Writes `path` whole or not at all, on disk when it returns: a neighbour, fsync, rename, fsync of the
/// folder. Throws CheckpointError that names what failed.
void write_durably(const std::string& path, std::string_view bytes);
/// What was renamed or made in `folder` survives a crash from here on.
void sync_folder(const std::string& folder);

}  // namespace hexaplan::validator
