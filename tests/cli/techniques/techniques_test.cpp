// docs/techniques.md: every way of training that can be said, and what stands behind it. The page is made of
// the readers' tables, the cost model's answers, steps that are executed here and the published runs.
// HEXAPLAN_UPDATE=1 rewrites it.
#include "tests/cli/techniques/techniques.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace hexaplan::tests {
namespace {

struct Row {
  Technique technique;
  Cell priced, executed, cuda;
  PublishedErrors published;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> made;
    for (Technique& t : techniques()) {
      Row row{.priced = priced(t),
              .executed = executed(t),
              .cuda = written_for_cuda(t),
              .published = published_with(t)};
      row.technique = std::move(t);
      made.push_back(std::move(row));
    }
    return made;
  }();
  return all;
}

constexpr std::string_view kHead = R"(# Techniques

Every way of training that a question can name, and what stands behind its numbers. The page is made by `tests/cli/techniques` and tested: a new word gets a row, and a word that changed nothing would fail.

* **Priced**: which numbers of an answer move when the word is said in a scenario where it matters: memory by kind, messages, time by cause.
* **CPU**: *yes* where the executor ran the scenario, made small, under the profile `hexaplan`, and bytes by kind at every instant, messages and FLOPs were exactly the predicted ones, loss and updated parameters those of one rank ([executor](executor.md)). Else the note says why not.
* **CUDA**: *yes* where the same step ran on the source of the CUDA kernels, compiled for the host. None of it has been measured on a GPU yet.
* **Published steps, peaks**: measured step times and memory figures of published runs that train this way, and the median of their errors ([accuracy](accuracy.md)). A run counts for each technique that it uses, so an error belongs to the whole run. *0*: nobody is known to have published one whose inputs are all known.
)";

/// Footnotes by their text, numbered as they come.
class Notes {
 public:
  std::string marks(const std::vector<std::string>& notes) {
    std::string marks;
    for (const std::string& note : notes) {
      auto at = std::ranges::find(all_, note);
      if (at == all_.end()) at = all_.insert(all_.end(), note);
      marks += fmt::format(" [{}]", at - all_.begin() + 1);
    }
    return marks;
  }
  std::string text() const {
    std::string text = "\n## Notes\n\n";
    for (std::size_t i = 0; i < all_.size(); ++i) text += fmt::format("{}. {}\n", i + 1, all_[i]);
    return text;
  }

 private:
  std::vector<std::string> all_;
};

std::string errors(std::size_t count, double median) {
  return count == 0 ? "0" : fmt::format("{}: {:.1f} %", count, 100 * median);
}

std::string page() {
  std::string text{kHead};
  std::vector<std::string_view> sections;
  for (const Row& row : rows()) {
    if (std::ranges::find(sections, row.technique.section) == sections.end())
      sections.push_back(row.technique.section);
  }
  Notes notes;
  for (const std::string_view section : sections) {
    text += fmt::format(
        "\n## {}\n\n| technique | said as | priced | CPU | CUDA | published steps | peaks |\n"
        "|---|---|---|---|---|---|---|\n",
        section);
    for (const Row& row : rows()) {
      if (row.technique.section != section) continue;
      text += fmt::format("| {} | `{}` | {}{} | {}{} | {}{} | {} | {} |\n", row.technique.title,
                          row.technique.words, row.priced.text, notes.marks(row.priced.notes),
                          row.executed.text, notes.marks(row.executed.notes), row.cuda.text,
                          notes.marks(row.cuda.notes), errors(row.published.steps, row.published.step_error),
                          errors(row.published.peaks, row.published.peak_error));
    }
  }
  return text + notes.text();
}

/// Lines without the medians, and these by themselves: a prediction that moves a little does not make the
/// page wrong.
struct Split {
  std::vector<std::string> lines;
  std::vector<double> medians;
};
Split split(const std::string& text) {
  Split found;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    std::string kept;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t colon = line.starts_with('|') ? line.find(": ", at) : std::string::npos;
      const std::size_t percent = colon == std::string::npos ? colon : line.find(" % |", colon);
      if (percent == std::string::npos || percent > colon + 8) {
        const std::size_t next = colon == std::string::npos ? line.size() : colon + 2;
        kept += line.substr(at, next - at);
        at = next;
        continue;
      }
      found.medians.push_back(std::strtod(line.c_str() + colon + 2, nullptr));
      kept += line.substr(at, colon - at);
      at = percent;
    }
    found.lines.push_back(kept);
  }
  return found;
}

constexpr double kMedianMayMove = 1.0;  // percentage points

void expect_executed_as_predicted() {
  for (const Row& row : rows()) {
    EXPECT_NE(row.executed.text, kDiffers)
        << row.technique.words << ": " << (row.executed.notes.empty() ? "" : row.executed.notes.front());
    EXPECT_NE(row.cuda.text, kDoesNotRun) << row.technique.words;
  }
}

TEST(techniques, the_page_is_what_the_tables_say) {
  expect_executed_as_predicted();
  const std::string path = std::string{HEXAPLAN_SOURCE_DIR} + "/docs/techniques.md";
  if (std::getenv("HEXAPLAN_UPDATE") != nullptr) std::ofstream{path, std::ios::binary} << page();
  std::stringstream committed;
  committed << std::ifstream{path, std::ios::binary}.rdbuf();
  const Split before = split(committed.str()), now = split(page());
  EXPECT_EQ(before.lines, now.lines) << "HEXAPLAN_UPDATE=1 rewrites " << path;
  ASSERT_EQ(before.medians.size(), now.medians.size());
  for (std::size_t i = 0; i < now.medians.size(); ++i)
    EXPECT_NEAR(before.medians[i], now.medians[i], kMedianMayMove) << "HEXAPLAN_UPDATE=1 rewrites " << path;
}

TEST(techniques, none_is_accepted_only) {
  for (const Technique& technique : techniques())
    EXPECT_NE(priced(technique).text, kAcceptedOnly) << technique.words;
}

TEST(techniques, every_field_of_a_recipe_has_a_place) {
  EXPECT_THAT(fields_without_a_place(), testing::IsEmpty());
}

}  // namespace
}  // namespace hexaplan::tests
