#include "cli/version.h"

namespace hexaplan::cli {

std::string version_text() {
  return HEXAPLAN_VERSION;
}

}  // namespace hexaplan::cli
