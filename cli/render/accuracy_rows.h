#pragma once
#include <string_view>

#include "validator/measure/accuracy/measured_case.h"

namespace hexaplan::cli {

struct MemoryFigureName {
  validator::MemoryKind kind;
  std::string_view name;
};
inline constexpr MemoryFigureName kMemoryFigureNames[] = {{validator::MemoryKind::Allocated, "allocated"},
                                                          {validator::MemoryKind::Reserved, "reserved"},
                                                          {validator::MemoryKind::Device, "device"}};

[[nodiscard]] constexpr std::string_view name_of_memory(validator::MemoryKind kind) {
  return kMemoryFigureNames[static_cast<std::size_t>(kind)].name;
}

}  // namespace hexaplan::cli
