// Which layouts are fastest, and why was the rest left out?
//   search_layouts llama-3.1-8b 16xH100 8192 64
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>

#include "planner/explain/explain.h"
#include "planner/search/search.h"
#include "presets/scenario/recompute_text.h"
#include "presets/scenario/scenario_request.h"

using namespace hexaplan;

static void print(const planner::Ranking& ranking) {
  std::printf("%lld candidates, %lld break a rule, %lld priced\n",
              static_cast<long long>(ranking.counts.enumerated),
              static_cast<long long>(ranking.counts.rejected), static_cast<long long>(ranking.counts.priced));
  int place = 0;
  for (const planner::RankedPlan& ranked : ranking.plans) {
    const planner::Plan& plan = ranked.plan;
    const std::string layout = presets::to_layout_text({.layout = plan.layout, .dp_given = true});
    const std::string recompute = presets::to_recompute_text(plan.recipe.recompute);
    std::printf("%2d  %-36s  recompute %-10s  micro-batch %lld  %.6f s  %.0f bytes  risk %.1f %%\n", ++place,
                layout.c_str(), recompute.c_str(), static_cast<long long>(plan.recipe.micro_batch),
                plan.price.step.value(), plan.price.peak.value(), 100 * plan.price.risk);
  }
  constexpr std::size_t kRules = 3;
  for (std::size_t i = 0; i < ranking.rejections.size() && i < kRules; ++i) {
    const planner::RejectionCount& row = ranking.rejections[i];
    std::printf("%9lld  %s, for example: %s\n", static_cast<long long>(row.candidates), row.rule.c_str(),
                row.reason.c_str());
  }
  if (ranking.plans.size() < 2) return;
  std::printf("second against first:\n");
  for (const planner::Term& term :
       planner::explain(ranking.plans[0].estimate, ranking.plans[1].estimate).time) {
    if (term.difference() == 0) continue;
    std::printf("  %-22.*s %+.6f s\n", static_cast<int>(term.name.size()), term.name.data(),
                term.difference());
  }
}

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: %s MODEL CLUSTER SEQUENCE GLOBAL_BATCH\n", words[0]);
    return 2;
  }
  try {
    presets::ScenarioRequest request;
    request.model = words[1];
    request.cluster = words[2];
    request.recipe.sequence = std::atoll(words[3]);
    request.recipe.global_batch = std::atoll(words[4]);
    const presets::CalibratedScenario question = presets::resolve_calibrated(request);

    planner::SearchProblem problem;
    problem.base = question.scenario;  // model, recipe, framework; the layout is what is searched
    problem.hardware = {{question.scenario.cluster, question.calibration}};
    problem.top = 5;
    print(planner::search(problem));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
