// The operators for which partly right programs are searched.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "generator/partial/rearrangement.h"

namespace taso::generator {

/// A kind of operator, with the sizes at which programs are compared. One spatial axis is described; a lift has several
/// such axes, and others of any kernel, stride, dilation and padding.
struct Source {
  enum class Operation { convolution, transposed_convolution, chain, max_pool, average_pool, product };
  enum class Factor { two, stride, dilation };  ///< by what axes are cut

  std::string name;
  Operation operation = Operation::convolution;
  Factor factor = Factor::two;
  bool is_grouped = false;
  bool has_relu = false;        ///< between the two convolutions of a chain
  bool counts_padding = false;  ///< of an average pool
  bool is_same = true;          ///< whether the result is as long as the operand
  std::int64_t kernel = 4;
  bool has_fixed_kernel = false;  ///< the program depends on the number of its taps
  bool only_sums = false;         ///< other programs are not tried
  std::int64_t batch = 2, channels = 4, filters = 6, length = 12;
  std::int64_t before = 1, after = 2;
  std::int64_t step = 2;  ///< stride or dilation

  bool is_transposed() const { return operation == Operation::transposed_convolution; }
  bool is_chain() const { return operation == Operation::chain; }
  bool is_product() const { return operation == Operation::product; }
  bool is_pool() const { return operation == Operation::max_pool || operation == Operation::average_pool; }
  bool has_weights() const { return !is_pool(); }
  bool takes_bias() const { return !is_pool() && !is_product(); }
  bool has_stride() const { return factor == Factor::stride || is_transposed(); }
};

std::vector<Source> all_sources();
/// The same kind with other sizes, at which nothing fits by chance that fits at the first.
Source at_other_sizes(Source source);

/// The lifts for which programs that change a kind of operator are stated. `drops`: the program has fewer axes.
std::vector<Lift> lifts_of(const Source& source, bool drops);

/// What an operator is applied to.
struct Application {
  Expression x, w;
  std::vector<Slide> slides;
  Size groups = 1;
  std::string bias;  ///< its name; empty without
  /// What the second convolution of a chain takes.
  Expression next_w;
  std::vector<Slide> next_slides;
  std::string next_bias;
};
/// The filters that the operator has; of all groups.
Size filters_of(const Source& source, const Application& to);
/// The length of the result along a spatial axis.
Size length_of(const Source& source, const Size& length, const Slide& slide);
/// The result of an operator of this kind.
Expression applied(const Source& source, const Writer& writer, const Application& to);

/// A kind of operator, lifted and written.
struct WrittenSource : Application {
  std::vector<Size> factors;  ///< by what each of the changed axes is cut
  Expression result;
  std::set<std::string> conditions;
  /// Along the changed axes there is padding, less than the operand is long. Some regions need it.
  std::set<std::string> usual_conditions;
};
WrittenSource written(const Source& source, const Lift& lift, const Writer& writer, bool has_bias);

}  // namespace taso::generator
