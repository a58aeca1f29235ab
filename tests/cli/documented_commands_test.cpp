// Commands that README, docs and help show do what they show: every one that needs nothing of somebody
// else's is run; the others are listed with the reason.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>

#include "run_hexaplan.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::cli {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = HEXAPLAN_SOURCE_DIR;

struct ShownCommand {
  std::string where, words;  // without "hexaplan "
};

/// The part of a shell line that calls the program, without its comment and what its output goes to.
std::string call_in(std::string line) {
  line = std::regex_replace(line, std::regex{"(^|\\s{2,})#.*$"}, "");
  line = std::regex_replace(line, std::regex{"\\s*>\\s*\\S+\\s*$"}, "");
  std::smatch match;
  const std::regex call{"(^|&& )(?:build/release/)?hexaplan (.*\\S)"};
  return std::regex_search(line, match, call) ? match[2].str() : std::string{};
}

void append_blocks(const std::string& page, std::vector<ShownCommand>& shown) {
  const std::string text = std::regex_replace(content_of(kRoot + "/" + page), std::regex{"\\\\\n\\s*"}, " ");
  const std::string begin = "```sh\n", end = "\n```";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    std::istringstream block{text.substr(at, text.find(end, at) - at)};
    for (std::string line; std::getline(block, line);) {
      if (std::string call = call_in(line); !call.empty()) shown.push_back({page, std::move(call)});
    }
  }
}

void append_help(std::vector<ShownCommand>& shown) {
  const std::string help = run_hexaplan("--help").out;
  const std::regex command{"\n  ([a-z]+)  "};
  for (std::sregex_iterator it{help.begin(), help.end(), command}, end; it != end; ++it) {
    const std::string name = (*it)[1];
    std::istringstream text{run_hexaplan(name + " --help").out};
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("  hexaplan ")) shown.push_back({name + " --help", line.substr(11)});
    }
  }
}

std::vector<ShownCommand> shown_commands() {
  std::vector<ShownCommand> shown;
  append_blocks("README.md", shown);
  std::set<std::string> pages;
  for (const auto& entry : fs::directory_iterator{kRoot + "/docs"}) {
    if (entry.path().extension() == ".md") pages.insert("docs/" + entry.path().filename().string());
  }
  for (const std::string& page : pages) append_blocks(page, shown);
  append_help(shown);
  return shown;
}

struct Need {
  const char* pattern;
  const char* what;
};
constexpr Need kNeeds[] = {{"…|\\[", "a pattern, no command"},
                           {"--device cuda", "a GPU"},
                           {"^oracle ", "PyTorch"},
                           {"^calibrate ", "this machine for itself"},
                           {"^validate ", "this machine for itself"},
                           {"^runs (show|compare|export)", "a history"},
                           {"^accuracy tests/golden", "half a minute; the golden tests score these tables"}};

/// Why a command cannot be run here; empty: it can.
std::string need_of(const std::string& words) {
  for (const Need& need : kNeeds) {
    if (std::regex_search(words, std::regex{need.pattern})) return need.what;
  }
  const std::string outputs =
      std::regex_replace(words, std::regex{"(-o|--[a-z-]*(html|svg|trace|out|save-scenario)) \\S+"}, "");
  const std::regex file{"\\S+\\.(json|csv|log|sh|sqlite|gz|pickle|txt|xml|html)\\b"};
  for (std::sregex_iterator it{outputs.begin(), outputs.end(), file}, end; it != end; ++it) {
    if (!fs::exists(kRoot + "/" + it->str())) return it->str();
  }
  return {};
}

TEST(documented_commands, run_as_they_are_shown) {
  const tests::TemporaryFolder own;
  const fs::path& folder = own.path();
  for (const char* name : {"examples", "tests"})
    fs::create_directory_symlink(kRoot + "/" + name, folder / name);
  std::size_t ran = 0;
  std::set<std::string> seen;
  for (const ShownCommand& shown : shown_commands()) {
    if (!seen.insert(shown.words).second) continue;
    if (const std::string need = need_of(shown.words); !need.empty()) {
      fmt::print("not run, needs {}: hexaplan {}  ({})\n", need, shown.words, shown.where);
      continue;
    }
    const std::string command = fmt::format("cd '{0}' && XDG_DATA_HOME='{0}' '{1}' {2} >out 2>err",
                                            folder.string(), HEXAPLAN_BINARY, shown.words);
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << shown.where << ": hexaplan " << shown.words << "\n"
        << content_of((folder / "err").string());
    ++ran;
  }
  EXPECT_GE(ran, 12U);
}

// The model's file is named from the folder of the sources.
TEST(documented_commands, the_first_prints_what_readme_shows) {
  const std::string readme = content_of(kRoot + "/README.md"), begin = "```text\n";
  const std::size_t at = readme.find(begin) + begin.size();
  const std::string block = readme.substr(at, readme.find("```", at) - at);
  std::vector<ShownCommand> shown;
  append_blocks("README.md", shown);
  ASSERT_FALSE(shown.empty());
  const std::string words =
      std::regex_replace(shown.front().words, std::regex{"(--model )(\\S+)"}, "$1'" + kRoot + "/$2'");
  EXPECT_EQ(run_hexaplan(words).out.substr(0, block.size()), block);
}

// A command whose help shows no example has to be read up elsewhere.
TEST(documented_commands, every_command_has_an_example_in_its_help_and_dash_h_is_short) {
  std::set<std::string> with_example;
  std::vector<ShownCommand> shown;
  append_help(shown);
  for (const ShownCommand& each : shown) with_example.insert(each.where);
  for (const char* command :
       {"estimate", "simulate", "search",   "finetune",  "posttrain", "compare",  "import",
        "diff",     "export",   "report",   "run",       "verify",    "validate", "oracle",
        "measure",  "runs",     "accuracy", "calibrate", "cluster",   "presets",  "backends"})
    EXPECT_TRUE(with_example.contains(std::string{command} + " --help")) << command;
  const std::string whole = run_hexaplan("search --help").out, brief = run_hexaplan("search -h").out;
  EXPECT_LT(brief.size() * 3, whole.size() * 2);
  for (const char* word : {"--model MODEL", "--tp LIST", "Examples:", "--help has more: Types of numbers; "})
    EXPECT_NE(brief.find(word), std::string::npos) << word;
  EXPECT_EQ(brief.find("--pue"), std::string::npos);
}

}  // namespace
}  // namespace hexaplan::cli
