// The presets of the module lie beside it: the interpreter that loads it is somebody else's executable, and a
// Hexaplan that is installed beside that has other presets.
#include <dlfcn.h>

#include "presets/catalog/built_in_folders.h"

namespace hexaplan::presets {

std::vector<std::filesystem::path> built_in_folders() {
  Dl_info module{};
  if (dladdr(reinterpret_cast<const void*>(&built_in_folders), &module) == 0) return {};
  return {std::filesystem::absolute(module.dli_fname).parent_path() / "share/hexaplan/presets"};
}

}  // namespace hexaplan::presets
