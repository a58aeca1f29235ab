#include "costmodel/spec/axes_text.h"

namespace hexaplan::costmodel {

std::string axes_text(const Layout& layout, bool with_dp) {
  std::string text = layout.outer_replicas > 1 ? "diloco·" : "";
  if (with_dp) text += "dp·";
  return text + "tp·cp·pp";
}

}  // namespace hexaplan::costmodel
