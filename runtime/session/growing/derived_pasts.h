// The derived models of a past with a capacity, for the sizes that its model leaves open.
#pragma once

#include <memory>
#include <utility>

#include "onnx/export/edit.h"
#include "ops/graph/graph.h"
#include "runtime/session/growing/growing_past.h"
#include "runtime/session/recently_used.h"

namespace taso::runtime::growing {

/// A derived model, ready to run.
struct DerivedPast {
  explicit DerivedPast(onnx::Model derived);
  onnx::Model model;  ///< with the weights, which the graph reads when it needs them
  PastLength length;
  std::unique_ptr<onnx::GraphEdit> edit;
  Graph graph;
};

class DerivedPasts {
 public:
  /// At most `most` are kept.
  DerivedPasts(GrowingPast past, std::size_t most) : past_(std::move(past)), made_(most) {}

  const GrowingPast& past() const { return past_; }
  /// Several threads may ask. Throws InputError.
  std::shared_ptr<const DerivedPast> find(const Sizes& sizes);

 private:
  const GrowingPast past_;
  RecentlyUsed<Sizes, DerivedPast> made_;
};

}  // namespace taso::runtime::growing
