#pragma once
#include <string>
#include <string_view>

namespace hexaplan::cli {

/// Writes a file whole or not at all: into a neighbour first, then renamed over `path`. InputError names what
/// failed. A path that is no regular file (a pipe, /dev/null) is written directly.
void write_file(const std::string& path, std::string_view text);

}  // namespace hexaplan::cli
