#include "costmodel/calibrate/measured_work.h"

namespace hexaplan::costmodel {

std::string_view name_of(WorkKind kind) {
  static constexpr std::array<std::string_view, kWorkKinds> kNames = {"products", "attention", "memory-bound",
                                                                      "messages", "copies"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace hexaplan::costmodel
