#pragma once
#include <QString>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/app/document/evaluation.h"
#include "presets/json/field_text.h"

namespace hexaplan::gui {

enum class Section : std::uint8_t { Model, Cluster, Layout, Recipe };
inline constexpr int kSections = 4;

using EditorKind = presets::FieldEditor;

/// "auto" in a field: not said, so that the value follows from the rest.
inline constexpr const char* kAuto = presets::kAutoWord.data();

/// One thing about the question that a person can change. Everything the setup shows is a row of fields().
struct Field {
  std::string id;  // stable: object name, key of Evaluation::options
  Section section = Section::Model;
  bool advanced = false;     // behind "More"
  const char* label = "";    // English, context "Field"
  const char* unit = "";     // beside the label; English, context "Field"
  const char* tip = "";      // what it is; English, context "Field"
  const char* formula = "";  // anchor in docs/formulas.md that it enters
  EditorKind editor = EditorKind::Text;
  /// The value now, as `write` reads it.
  std::function<std::string(const Evaluation&)> read;
  /// Changes the question. InputError when the text is not understood.
  std::function<void(presets::ScenarioRequest&, const std::string& text, const Evaluation& now)> write;
  /// What `write` leaves to whoever takes the edit because it reads a preset or a file: InputError when the
  /// model or the cluster is none. Null: nothing.
  void (*check)(const presets::ScenarioRequest&) = nullptr;
  /// Values to offer. Null: none.
  std::function<std::vector<std::string>(const Evaluation&)> values = nullptr;
  /// Whether each offered value is tried against the rules.
  bool tried = true;
  /// Null: always. Else whether the question has such a part.
  std::function<bool(const Evaluation&)> shown = nullptr;
  /// Whether the value was not said and follows from the rest, so that it may change with it; then `write`
  /// takes kAuto to let it follow again. Null: no such field.
  std::function<bool(const Evaluation&)> automatic = nullptr;
  /// What stands below the editor: values that follow. Null or empty: nothing.
  std::function<QString(const Evaluation&)> follows = nullptr;
};

/// All fields, in the order in which they are shown.
[[nodiscard]] std::span<const Field> fields();
[[nodiscard]] const Field* findField(std::string_view id);
/// "Model", "Cluster" … in the language of the window.
[[nodiscard]] QString titleOf(Section section);
/// "Global batch" in the language of the window.
[[nodiscard]] QString labelOf(const Field& field);

// The parts of the table.
void appendModelFields(std::vector<Field>& table);
void appendClusterFields(std::vector<Field>& table);
void appendRecipeFields(std::vector<Field>& table);
void appendLayoutFields(std::vector<Field>& table);

}  // namespace hexaplan::gui
