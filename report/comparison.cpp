#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/figures.h"
#include "report/html.h"
#include "report/plan_page.h"

namespace hexaplan::report {
namespace {

std::string letter(std::size_t index) {
  constexpr std::size_t kLetters = 26;
  return index < kLetters ? std::string(1, static_cast<char>('A' + index)) : fmt::format("S{}", index + 1);
}

/// Names of all inputs, in the order of the first answer that has them.
std::vector<std::string> names_of(const std::vector<std::vector<Input>>& sides) {
  std::vector<std::string> names;
  for (const std::vector<Input>& side : sides) {
    for (const Input& input : side) {
      if (std::find(names.begin(), names.end(), input.name) == names.end()) names.push_back(input.name);
    }
  }
  return names;
}

std::string value_of(const std::vector<Input>& side, const std::string& name) {
  const auto found =
      std::find_if(side.begin(), side.end(), [&](const Input& input) { return input.name == name; });
  return found == side.end() ? "–" : found->value;
}

std::vector<std::string> heads(std::size_t sides) {
  std::vector<std::string> row{""};
  for (std::size_t i = 0; i < sides; ++i) row.push_back(letter(i));
  return row;
}

/// Those that differ; equal ones stand in the first answer's inputs.
std::string differing_inputs(const std::vector<Answer>& answers) {
  std::vector<std::vector<Input>> sides;
  sides.reserve(answers.size());
  for (const Answer& answer : answers) sides.push_back(inputs_of(answer));
  Table table{.heads = heads(answers.size()), .rows = {}, .left = answers.size() + 1};
  for (const std::string& name : names_of(sides)) {
    std::vector<Cell> row{name};
    std::set<std::string> values;
    for (const std::vector<Input>& side : sides) {
      row.emplace_back(value_of(side, name));
      values.insert(value_of(side, name));
    }
    if (values.size() > 1) table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return "<p>All inputs are the same.</p>\n";
  return "<h3>Inputs that differ</h3>\n" + to_html(table);
}

std::string figures_table(const std::vector<Answer>& answers) {
  std::vector<std::vector<Figure>> sides;
  sides.reserve(answers.size());
  for (const Answer& answer : answers) sides.push_back(figures_of(answer.resolved.scenario, answer.estimate));
  Table table{.heads = heads(answers.size()), .rows = {}};
  for (std::size_t i = 0; i < sides.front().size(); ++i) {
    if (says_nothing(sides, i)) continue;
    const Figure& first = sides.front()[i];
    std::vector<Cell> row{(first.part ? "\u00a0\u00a0" : "") + first.label};
    for (std::size_t s = 0; s < sides.size(); ++s)
      row.emplace_back(figure_text(sides[s][i], s == 0 ? std::nullopt : first.value));
    table.rows.push_back(std::move(row));
  }
  return "<h3>Answers</h3>\n<p class=\"soft\">Differences in brackets are against A. Steps of different "
         "batches are "
         "different work: tokens per second compare.</p>\n" +
         to_html(table);
}

}  // namespace

std::string comparison_part(const std::vector<Answer>& answers) {
  std::string html = "<dl>\n";
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    html += fmt::format("<dt>{}{}</dt><dd>{}</dd>\n", letter(i),
                        answer.name.empty() ? std::string{} : " = " + Cell{answer.name}.html(),
                        Cell{title_of(answer)}.html());
    if (const auto* rejected = std::get_if<costmodel::Rejected>(&answer.estimate.verdict))
      html += fmt::format("<dd class=\"bad\">{}</dd>\n", Cell{rejected->reason}.html());
  }
  return html + "</dl>\n" + differing_inputs(answers) + figures_table(answers);
}

}  // namespace hexaplan::report
