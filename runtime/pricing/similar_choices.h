// Variants for calls that were not measured, from measured calls that resemble them: a product with more rows usually
// wants the tiles of one with fewer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/pricing/price_database.h"

namespace taso::pricing {

class SimilarChoices {
 public:
  /// Keeps the products of a machine for which a kernel of our own was the fastest.
  SimilarChoices(const cost::PriceDatabase& prices, const std::string& machine);
  /// The choice of the most similar product whose lowering is among `lowerings`; empty if there is none, or if the text
  /// is not that of a product.
  std::string find(std::string_view call, std::span<const std::string> lowerings) const;

 private:
  /// What the time of a product depends on.
  struct Product {
    std::string family;           ///< kind, precision, types of the factors, and whether channels come last
    std::string attributes;       ///< of the convolution: strides, groups; empty for a matmul
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
