// Which spans of a timeline are asked for.
#include <QStringList>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "gui/plot/timeline_geometry.h"

namespace hexaplan::gui {
namespace {

/// One word: letters of a name, or micro-batches from `first` to `last`.
struct SpanWord {
  QString letters;
  bool is_number = false;
  std::int64_t first = -1, last = -1;
};

SpanWord spanWord(const QString& word) {
  const qsizetype dots = word.indexOf(QStringLiteral(".."));
  bool from = false, to = false;
  const qlonglong first = (dots < 0 ? word : word.left(dots)).toLongLong(&from);
  const qlonglong last = dots < 0 ? first : word.mid(dots + 2).toLongLong(&to);
  return {word, from && (dots < 0 || to), first, last};
}

bool answers(const TimelineData& data, std::size_t lane, std::size_t index, const SpanWord& word) {
  const TimelineSpan& span = data.lanes[lane].spans[index];
  if (data.words) return data.words(lane, index).contains(word.letters, Qt::CaseInsensitive);
  if (word.is_number) return span.microbatch >= word.first && span.microbatch <= word.last;
  return data.names[span.what].contains(word.letters, Qt::CaseInsensitive);
}

}  // namespace

std::shared_ptr<const TimelineData> filteredBy(const QString& words,
                                               const std::shared_ptr<const TimelineData>& all) {
  std::vector<SpanWord> asked;
  for (const QString& word : words.simplified().split(u' ', Qt::SkipEmptyParts))
    asked.push_back(spanWord(word));
  if (asked.empty() || !all) return all;
  auto some = std::make_shared<TimelineData>(*all);
  std::vector<std::vector<std::size_t>> kept(all->lanes.size());  // by lane: indices into all's spans
  for (std::size_t lane = 0; lane < all->lanes.size(); ++lane) {
    TimelineLane& into = some->lanes[lane];
    into.spans.clear();
    into.idle_is_bubble = false;
    for (std::size_t i = 0; i < all->lanes[lane].spans.size(); ++i) {
      const auto answered = [&](const SpanWord& word) { return answers(*all, lane, i, word); };
      if (!std::all_of(asked.begin(), asked.end(), answered)) continue;
      into.spans.push_back(all->lanes[lane].spans[i]);
      kept[lane].push_back(i);
    }
  }
  if (all->label || all->words) {
    const auto of_all = [kept = std::make_shared<decltype(kept)>(std::move(kept))](
                            std::size_t lane, std::size_t span) { return (*kept)[lane][span]; };
    if (all->label) {
      some->label = [all, of_all](std::size_t lane, std::size_t i) {
        return all->label(lane, of_all(lane, i));
      };
    }
    if (all->words) {
      some->words = [all, of_all](std::size_t lane, std::size_t i) {
        return all->words(lane, of_all(lane, i));
      };
    }
  }
  return some;
}

}  // namespace hexaplan::gui
