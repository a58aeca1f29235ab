// Which spans of a timeline are asked for.
#include <QStringList>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

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

/// By lane: indices of what is kept of its spans.
using KeptSpans = std::vector<std::vector<std::size_t>>;

std::vector<std::size_t> spansThatAnswer(const TimelineData& data, std::size_t lane,
                                         const std::vector<SpanWord>& asked) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < data.lanes[lane].spans.size(); ++i) {
    const auto answered = [&](const SpanWord& word) { return answers(data, lane, i, word); };
    if (std::all_of(asked.begin(), asked.end(), answered)) kept.push_back(i);
  }
  return kept;
}

/// What `of` says of a span of all, for one that was kept.
std::function<QString(std::size_t, std::size_t)> ofKept(
    const std::shared_ptr<const TimelineData>& all,
    std::function<QString(std::size_t, std::size_t)> TimelineData::*of,
    const std::shared_ptr<const KeptSpans>& kept) {
  if (!((*all).*of)) return {};
  return
      [all, of, kept](std::size_t lane, std::size_t span) { return ((*all).*of)(lane, (*kept)[lane][span]); };
}

}  // namespace

std::shared_ptr<const TimelineData> filteredBy(const QString& words,
                                               const std::shared_ptr<const TimelineData>& all) {
  std::vector<SpanWord> asked;
  for (const QString& word : words.simplified().split(u' ', Qt::SkipEmptyParts))
    asked.push_back(spanWord(word));
  if (asked.empty() || !all) return all;
  const auto kept = std::make_shared<KeptSpans>();
  auto some = std::make_shared<TimelineData>(*all);
  for (std::size_t lane = 0; lane < all->lanes.size(); ++lane) {
    kept->push_back(spansThatAnswer(*all, lane, asked));
    some->lanes[lane].spans.clear();
    some->lanes[lane].idle_is_bubble = false;
    for (const std::size_t i : kept->back()) some->lanes[lane].spans.push_back(all->lanes[lane].spans[i]);
  }
  some->label = ofKept(all, &TimelineData::label, kept);
  some->words = ofKept(all, &TimelineData::words, kept);
  return some;
}

}  // namespace hexaplan::gui
