#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "presets/json/spec_names.h"

namespace hexaplan::presets {

/// How a person says a value in the window.
enum class FieldEditor : std::uint8_t {
  None,    // not there by itself
  Choice,  // one of the offered words
  Words,   // an offered word, or text of one's own
  Steps,   // a number: slider over the offered ones, and a box for any
  Check,   // "true" or "false"
  Text,    // anything that the field's reader understands
};

/// "auto": not said, so that the value follows from the rest.
inline constexpr std::string_view kAutoWord = "auto";

/// A text that the window translates; scripts/translations.sh finds these calls. Returns `text`.
[[nodiscard]] constexpr const char* window_text(const char* /*context*/, const char* text) {
  return text;
}

/// Powers of two from `low` to `high`.
struct FieldSteps {
  std::int64_t low = 0, high = 0;
};

/// What people read of a field, and what they are offered: the one source of the command's help and
/// completion, of the Python module's words and of the window's control.
struct FieldText {
  const char* value = "";                         // placeholder in the command's help, "TOKENS"
  const char* help = "";                          // the command's help; "{}" stands for `words`
  std::vector<std::string> (*words)() = nullptr;  // every word that is a value
  const char* examples = "";                      // values offered beside them, a blank between two
  FieldSteps steps;                               // FieldEditor::Steps
  FieldEditor editor = FieldEditor::None;
  bool advanced = true;                // behind "More"
  std::string_view usual = kAutoWord;  // what stands in the window when nothing is said
  const char* label = "";
  const char* unit = "";
  const char* formula = "";  // anchor in docs/formulas.md that the field enters
  const char* tip = "";      // what it is
  /// Heading in the command's help of this field and of those behind it, up to the next that has one.
  const char* group = "";
};

/// The words of a text, between single blanks.
[[nodiscard]] std::vector<std::string> words_in(std::string_view text);
/// Words and examples, in the order in which they are offered.
[[nodiscard]] std::vector<std::string> offered(const FieldText& text);
/// The command's help, with the words in it.
[[nodiscard]] std::string help_of(const FieldText& text);

}  // namespace hexaplan::presets
