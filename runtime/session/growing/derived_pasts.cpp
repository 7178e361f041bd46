#include "runtime/session/growing/derived_pasts.h"

#include "runtime/session/run_form.h"

namespace taso::runtime::growing {

DerivedPast::DerivedPast(onnx::Model derived) : model(std::move(derived)), length(past_length_of(model).value()) {
  model.validate();
  edit = std::make_unique<onnx::GraphEdit>(model);
  bring_into_run_form(*edit);
  graph = edit->imported()->graph;
}

std::shared_ptr<const DerivedPast> DerivedPasts::find(const Sizes& sizes) {
  return made_.find(sizes, [&] { return std::make_shared<const DerivedPast>(past_.derived(sizes)); });
}

}  // namespace taso::runtime::growing
