#include "gui/app/setup/fields.h"

namespace hexaplan::gui {

std::span<const Field> fields() {
  static const std::vector<Field> table = [] {
    std::vector<Field> rows;
    appendModelFields(rows);
    appendClusterFields(rows);
    appendLayoutFields(rows);
    appendRecipeFields(rows);
    return rows;
  }();
  return table;
}

const Field* findField(std::string_view id) {
  for (const Field& field : fields()) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

}  // namespace hexaplan::gui
