// Matrix products and determinants. Simple loops in a fixed order, so that every machine gives the same bytes.
#include <cmath>

#include "runtime/host/families.h"
#include "runtime/host/matrix_product.h"

namespace taso::runtime {
namespace {

struct Product {
  Extents a, b;    // both operands with rank 2 or more
  Extents batch;   // broadcast
  Extents result;  // without the dimensions added to vectors
  std::int64_t rows = 0, inner = 0, columns = 0;
};

Product plan_of(const HostCall& call, const Array& left, const Array& right) {
  Product product;
  product.a = left.extents();
  product.b = right.extents();
  require(call, !product.a.empty() && !product.b.empty(), "takes no scalars");
  if (left.rank() == 1) product.a.insert(product.a.begin(), 1);
  if (right.rank() == 1) product.b.push_back(1);
  product.rows = product.a[product.a.size() - 2];
  product.inner = product.a.back();
  product.columns = product.b.back();
  require(call, product.b[product.b.size() - 2] == product.inner, "has operands whose inner dimensions differ");
  product.batch =
      broadcast(Extents(product.a.begin(), product.a.end() - 2), Extents(product.b.begin(), product.b.end() - 2));
  product.result = product.batch;
  if (left.rank() > 1) product.result.push_back(product.rows);
  if (right.rank() > 1) product.result.push_back(product.columns);
  return product;
}

template <class T>
void multiply(const T* a, const T* b, T* c, const Product& product) {
  for (std::int64_t i = 0; i < product.rows; ++i) {
    T* const row = c + i * product.columns;
    std::fill(row, row + product.columns, T{0});
    for (std::int64_t k = 0; k < product.inner; ++k) {
      const T factor = a[i * product.inner + k];
      const T* const other = b + k * product.columns;
      for (std::int64_t j = 0; j < product.columns; ++j)
        row[j] = wrapping_add(row[j], wrapping_multiply(factor, other[j]));
    }
  }
}

std::vector<Array> matmul(const HostCall& call) {
  require_same_type(call, 0, 2);
  return through_float(call, [](const HostCall& wide) {
    return std::vector<Array>{matrix_product(wide, wide.input(0), wide.input(1))};
  });
}

Array transposed(const Array& matrix) {
  Array result(matrix.type(), {matrix.extents()[1], matrix.extents()[0]});
  with_element_type(matrix.type(), [&](auto tag) {
    using T = decltype(tag);
    const auto from = matrix.values<T>();
    const auto to = result.mutable_values<T>();
    const auto rows = static_cast<std::size_t>(matrix.extents()[0]),
               columns = static_cast<std::size_t>(matrix.extents()[1]);
    if (from.empty()) return;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  });
  return result;
}

template <class T>
Array scaled(const Array& array, double factor) {
  if (factor == 1) return array;
  const Array one = Array::scalar(factor).cast(element_type_of<T>);
  return map<T, T>(array, [by = one.values<T>()[0]](T x) { return wrapping_multiply(by, x); });
}

std::vector<Array> gemm(const HostCall& call) {
  require_same_type(call, 0, 3);
  return through_float(call, [](const HostCall& wide) {
    Array a = wide.input(0), b = wide.input(1);
    require(wide, a.rank() == 2 && b.rank() == 2, "multiplies matrices");
    if (wide.attributes.integer("transA", 0) != 0) a = transposed(a);
    if (wide.attributes.integer("transB", 0) != 0) b = transposed(b);
    const Array product = matrix_product(wide, a, b);
    return with_number(wide, a.type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      const Array left = scaled<T>(product, wide.attributes.number("alpha", 1));
      if (!wide.has(2)) return {left};
      const Array& bias = wide.input(2);
      require(wide, broadcast(product.extents(), bias.extents()) == product.extents(),
              "has a C that does not broadcast");
      return {zip<T, T, T>(left, scaled<T>(bias, wide.attributes.number("beta", 1)),
                           [](T x, T y) { return wrapping_add(x, y); })};
    });
  });
}

// Gaussian elimination with partial pivoting.
double determinant(std::vector<double> matrix, std::size_t n) {
  double product = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row)
      if (std::abs(matrix[row * n + column]) > std::abs(matrix[pivot * n + column])) pivot = row;
    if (matrix[pivot * n + column] == 0) return 0;
    if (pivot != column) {
      for (std::size_t k = 0; k < n; ++k) std::swap(matrix[pivot * n + k], matrix[column * n + k]);
      product = -product;
    }
    product *= matrix[column * n + column];
    for (std::size_t row = column + 1; row < n; ++row) {
      const double factor = matrix[row * n + column] / matrix[column * n + column];
      for (std::size_t k = column; k < n; ++k) matrix[row * n + k] -= factor * matrix[column * n + k];
    }
  }
  return product;
}

std::vector<Array> det(const HostCall& call) {
  const Array& in = call.input(0);
  require(call, is_floating(in.type()), "takes floating-point operands");
  require(call, in.rank() >= 2 && in.extents().back() == in.extents()[in.rank() - 2], "takes square matrices");
  const auto n = static_cast<std::size_t>(in.extents().back());
  Array result(ElementType::float64, Extents(in.extents().begin(), in.extents().end() - 2));
  const std::vector<double> values = in.doubles();
  const auto to = result.mutable_values<double>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(i * n * n);
    to[i] = determinant({first, first + static_cast<std::ptrdiff_t>(n * n)}, n);
  }
  return {result.cast(in.type())};
}

}  // namespace

Array matrix_product(const HostCall& call, const Array& a, const Array& b) {
  require(call, a.type() == b.type(), "takes operands of one element type");
  const Product product = plan_of(call, a, b);
  Array result(a.type(), product.result);
  if (result.size() == 0) return result;
  const Extents a_batch(product.a.begin(), product.a.end() - 2), b_batch(product.b.begin(), product.b.end() - 2);
  with_number(call, a.type(), [&](auto tag) {
    using T = decltype(tag);
    const T* const left = a.values<T>().data();
    const T* const right = b.values<T>().data();
    T* const to = result.mutable_values<T>().data();
    for_each_row<3>(product.batch,
                    {strides_of(product.batch), broadcast_strides(a_batch, product.batch),
                     broadcast_strides(b_batch, product.batch)},
                    [&](const auto& at, const auto& step, std::int64_t number) {
                      for (std::int64_t i = 0; i < number; ++i)
                        multiply(left + (at[1] + i * step[1]) * product.rows * product.inner,
                                 right + (at[2] + i * step[2]) * product.inner * product.columns,
                                 to + (at[0] + i * step[0]) * product.rows * product.columns, product);
                    });
  });
  return result;
}

Family linear() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"Det", det},
      {"Gemm", gemm},
      {"MatMul", matmul},
  };
  return functions;
}

}  // namespace taso::runtime
