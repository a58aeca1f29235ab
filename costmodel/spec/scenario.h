#pragma once
#include "costmodel/spec/cluster_spec.h"
#include "costmodel/spec/framework_profile.h"
#include "costmodel/spec/layout.h"
#include "costmodel/spec/model_spec.h"
#include "costmodel/spec/recipe.h"

namespace hexaplan::costmodel {

/// One question: this model, trained so, on these machines, cut this way, by this framework.
struct Scenario {
  ModelSpec model;
  Recipe recipe;
  ClusterSpec cluster;
  Layout layout;
  FrameworkProfile framework;
};

}  // namespace hexaplan::costmodel
