#pragma once
#include <rapidcheck.h>

#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

// Scenarios whose steps both the step program and the functions that it is held against describe: profile
// `hexaplan`, flash attention, bf16, even routing. Degrees divide what they cut more often than not.

/// Llama-like dense models; every schedule, TP with and without SP, PP, VPP, ring and gathered context
/// parallelism, ZeRO-0 to 3, no, selective, layer-wise and full recomputation.
[[nodiscard]] Scenario dense_scenario();
/// The same with a mixture of experts, EP and expert-TP.
[[nodiscard]] Scenario moe_scenario();
/// `scenario` with recomputation of some of the modules that its models have.
[[nodiscard]] Scenario with_recomputed_modules(Scenario scenario);
/// Models with everything that layers can have (norms of heads, LayerNorm, latent attention, experts), under
/// any of the framework profiles, with any recomputation that the program describes.
[[nodiscard]] Scenario framework_scenario();
/// Multi-head latent attention, dense or with experts.
[[nodiscard]] Scenario latent_scenario();

}  // namespace hexaplan::costmodel::program
