// Variants for convolutions that were not measured, from measured ones that resemble them: with another batch, tiles of
// the same size are usually good. Not for matmuls: with two to five times the rows, the tiles of BERT's products took a
// quarter longer than the libraries' first suggestions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/pricing/price_database.h"

namespace taso::pricing {

class SimilarChoices {
 public:
  /// Keeps the convolutions of a machine for which a kernel of our own was the fastest.
  SimilarChoices(const cost::PriceDatabase& prices, const std::string& machine);
  /// The choice of the most similar one whose lowering is among `lowerings`; empty if there is none, or if the text is
  /// not that of a convolution.
  std::string find(std::string_view call, std::span<const std::string> lowerings) const;

 private:
  /// What the time of a convolution depends on.
  struct Product {
    std::string family;           ///< precision, types of the factors, and whether channels come last
    std::string attributes;       ///< strides, groups, …
    std::vector<double> volumes;  ///< logarithms, of both factors and of the first result
    std::vector<double> factor;   ///< logarithms of the extents of the second factor
  };
  static bool read(std::string_view text, Product& product);
  static double distance(const Product& one, const Product& other);

  struct Known {
    Product product;
    std::string lowering, choice;
  };
  std::vector<Known> known_;
};

}  // namespace taso::pricing
