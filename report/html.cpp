#include "report/html.h"

#include <fmt/format.h>

#include "charts/svg.h"

namespace hexaplan::report {

using charts::escaped_markup;

namespace {

// Colours of marks: Okabe and Ito (https://jfly.uni-koeln.de/color/); blue is lighter on dark ground. Text
// and badges have a contrast of 4.5 at least.
constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --ink: #1a1a1a; --soft-ink: #565656; --page: #ffffff; --soft: #f3f3f3;
        --grid: #d9d9d9; --rule: #b0b0b0; --lane: #f3f3f3; --dark-mark: #000000;
        --predicted: #e69f00; --measured: #0072b2; --good: #00694e; --risky: #7d5200; --bad: #a83e00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --soft-ink: #b0b4ba; --page: #16181c; --soft: #22262c; --grid: #3a3f47;
          --rule: #59606b; --lane: #22262c; --dark-mark: #e8e8e8;
          --measured: #56b4e9; --good: #4cc9a0; --risky: #f0b43c; --bad: #ff9c5b; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, Helvetica, Arial, sans-serif; color: var(--ink); background: var(--page);
       max-width: 1180px; margin: 1.5em auto; padding: 0 1em; overflow-wrap: break-word; }
h1 { font-size: 1.5em; margin: .2em 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2em; margin: 2em 0 .5em; } h3 { font-size: 1em; margin: 1.4em 0 .4em; }
a { color: var(--measured); } nav { margin-top: 1em; } nav a { margin-right: 1em; white-space: nowrap; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25em .7em; white-space: nowrap; text-align: right; border-bottom: 1px solid var(--grid); }
th { background: var(--soft); position: sticky; top: 0; white-space: normal; vertical-align: bottom; }
.l { text-align: left; } td.l.wrap { white-space: normal; min-width: 16em; }
.good { color: var(--good); } .risky { color: var(--risky); } .bad { color: var(--bad); }
.soft { color: var(--soft-ink); } .differs { font-weight: 600; }
.wide { overflow: auto; max-height: 80vh; } .picture { overflow-x: auto; margin: .5em 0; }
.picture svg { min-width: 640px; } .picture.large svg { min-width: 1000px; }
.plots { display: flex; flex-wrap: wrap; gap: 2em; } svg { max-width: 100%; height: auto; }
details { margin: .5em 0; } details details { margin-left: 1.2em; }
summary { cursor: pointer; padding: .15em 0; } summary .bytes { font-variant-numeric: tabular-nums; }
.badge { display: inline-block; font-weight: 700; padding: .2em .7em; border: 2px solid currentColor;
         border-radius: .4em; margin: .4em .8em .4em 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11em, 1fr)); gap: .8em; margin: 1em 0; }
.tile { background: var(--soft); border-radius: .4em; padding: .6em .8em; }
.tile b { display: block; font-size: 1.25em; } .tile span { color: var(--soft-ink); font-size: .9em; }
code { font-size: .95em; overflow-wrap: anywhere; } dt { font-weight: 600; } dd { margin: 0 0 .6em 1.2em; }
@media print { :root { color-scheme: light; } body { margin: 0; max-width: none; font-size: 11px; }
  nav { display: none; } .wide { overflow: visible; max-height: none; } th { position: static; }
  th, td { white-space: normal; padding: .15em .4em; } .picture svg { min-width: 0; width: 100%; }
  .picture.large svg { min-width: 0; } svg, tr, .tile { break-inside: avoid; } h2, h3, summary { break-after: avoid; } }
)css";

}  // namespace

Cell::Cell(std::string_view text) : html_{escaped_markup(text)} {}

std::string to_html(const Table& table) {
  std::string html = "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>";
  const auto look = [&](std::size_t column) { return column < table.left ? " class=\"l\"" : ""; };
  for (std::size_t i = 0; i < table.heads.size(); ++i) {
    // A column without a name has no head: screen readers would announce an empty one.
    html += table.heads[i].empty()
                ? std::string{"<td></td>"}
                : fmt::format("<th scope=\"col\"{}>{}</th>", look(i), escaped_markup(table.heads[i]));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) html += fmt::format("<td{}>{}</td>", look(i), row[i].html());
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

Markup marked(std::string_view text, std::string_view look) {
  return {fmt::format("<span class=\"{}\">{}</span>", look, escaped_markup(text))};
}

std::string picture(const std::string& svg, bool large) {
  return fmt::format("<div class=\"picture{}\" tabindex=\"0\">{}</div>\n", large ? " large" : "", svg);
}

std::string unfolding(const Markup& summary, const std::string& content, bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open=\"\"" : "",
                     summary.html, content);
}

std::string section(std::string_view id, std::string_view heading, const std::string& content) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, escaped_markup(heading),
                     content);
}

std::string_view page_style() {
  return kStyle;
}

std::string page(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escaped_markup(title), kStyle, body);
}

}  // namespace hexaplan::report
