#include "runtime/gpu/cuda/libraries/cublas_matmul.h"

#include "ops/core/error.h"

#ifdef TASO_HAS_CUBLAS
#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "runtime/gpu/cuda/libraries/matmul_shape.h"

namespace taso::gpu::cuda {

namespace {

constexpr std::size_t workspace_limit = std::size_t{32} << 20;
constexpr int most_algorithms = 20;

void require(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw EnvironmentError(fmt::format("cuBLAS: {}: {}", what, cublasLtGetStatusString(status)));
}

/// The reason why cuBLAS cannot do a product.
struct Refusal : EnvironmentError {
  using EnvironmentError::EnvironmentError;
};

cudaDataType_t type_of(ElementType element) {
  switch (element) {
    case ElementType::float32: return CUDA_R_32F;
    case ElementType::float64: return CUDA_R_64F;
    case ElementType::float16: return CUDA_R_16F;
    case ElementType::bfloat16: return CUDA_R_16BF;
    default: throw Refusal(fmt::format("cuBLAS: products of {} are not supported", name_of(element)));
  }
}

struct LayoutEnd {
  void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
};
struct ProductEnd {
  void operator()(cublasLtMatmulDesc_t product) const { cublasLtMatmulDescDestroy(product); }
};
struct PreferenceEnd {
  void operator()(cublasLtMatmulPreference_t preference) const { cublasLtMatmulPreferenceDestroy(preference); }
};
using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, LayoutEnd>;
using Product = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, ProductEnd>;
using Preference = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, PreferenceEnd>;

/// A column-major matrix, or the transpose of one.
struct Matrix {
  std::int64_t rows = 0, columns = 0, leading = 0;
  bool is_transposed = false;
};

/// Expresses a [rows, columns] matrix with these strides as column-major. Strides along extents of 1 do not matter.
Matrix column_major(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride) {
  const auto leading = [](std::int64_t height, std::int64_t width, std::int64_t stride) {
    if (width > 1 && stride < height) throw Refusal("cuBLAS: overlapping rows");
    return width > 1 ? stride : height;
  };
  if (rows == 1 || row_stride == 1) {
    if (columns == 1 || column_stride >= rows) return {rows, columns, leading(rows, columns, column_stride), false};
  }
  if (columns == 1 || column_stride == 1) return {columns, rows, leading(columns, rows, row_stride), true};
  throw Refusal("cuBLAS: a matrix with gaps along both axes");
}

Layout layout_of(const Matrix& matrix, cudaDataType_t type, std::int64_t batches, std::int64_t batch_stride) {
  cublasLtMatrixLayout_t made = nullptr;
  require(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(matrix.rows),
                                     static_cast<std::uint64_t>(matrix.columns), matrix.leading),
          "a layout");
  Layout layout(made);
  if (batches > 1) {
    const auto count = static_cast<std::int32_t>(batches);
    require(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
            "batches");
    require(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                                             sizeof batch_stride),
            "the distance of batches");
  }
  return layout;
}

/// The epilogue in cuBLAS's terms: activation(alpha * a b + c + bias).
struct Epilogue {
  double alpha = 1;
  std::optional<std::size_t> bias, residual;  ///< indices of steps
  int activation = CUBLASLT_EPILOGUE_DEFAULT;
};

Epilogue epilogue_of(const MatmulLaunch& launch, const MatmulShape& shape) {
  Epilogue found;
  bool is_activated = false;
  for (std::size_t at = 0; at < launch.epilogue.size(); ++at) {
    const Pointwise& step = launch.epilogue[at];
    if (is_activated) throw Refusal("cuBLAS: an operation after the activation");
    switch (step.mode) {
      case Pointwise::Mode::scale:
        if (found.bias || found.residual) throw Refusal("cuBLAS: a factor after a sum");
        found.alpha *= step.low;
        break;
      case Pointwise::Mode::add: {
        if (step.operand->element != launch.y.element) throw Refusal("cuBLAS: a summand of another type");
        const bool same_for_rows = shape.rows.extent == 1 || shape.rows.operands[at] == 0;
        const bool same_for_columns = shape.columns.extent == 1 || shape.columns.operands[at] == 0;
        const bool same_for_batches = std::all_of(shape.batches.begin(), shape.batches.end(),
                                                  [at](const auto& axis) { return axis.operands[at] == 0; });
        const bool is_vector = same_for_rows && same_for_batches && shape.columns.operands[at] == 1;
        if (!found.bias && is_vector) {
          found.bias = at;
        } else if (!found.residual && (shape.rows.extent == 1 || !same_for_rows) &&
                   (shape.columns.extent == 1 || !same_for_columns)) {
          found.residual = at;
        } else {
          throw Refusal("cuBLAS: a summand that is neither a bias nor a residual");
        }
        break;
      }
      case Pointwise::Mode::relu:
        found.activation = CUBLASLT_EPILOGUE_RELU;
        is_activated = true;
        break;
      case Pointwise::Mode::gelu_tanh:  // what cuBLAS calls gelu
        found.activation = CUBLASLT_EPILOGUE_GELU;
        is_activated = true;
        break;
      default: throw Refusal("cuBLAS: unsupported epilogue");
    }
  }
  if (found.bias)
    found.activation = found.activation == CUBLASLT_EPILOGUE_DEFAULT ? static_cast<int>(CUBLASLT_EPILOGUE_BIAS)
                                                                     : found.activation | CUBLASLT_EPILOGUE_BIAS;
  return found;
}

template <class T>
T configured(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  require(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written),
          "an algorithm's attribute");
  return value;
}

constexpr std::array<cublasLtMatmulAlgoConfigAttributes_t, 8> attributes{
    CUBLASLT_ALGO_CONFIG_TILE_ID,          CUBLASLT_ALGO_CONFIG_STAGES_ID,       CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
    CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING,   CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
    CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID,   CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID};
constexpr std::array<const char*, 8> attribute_names{"tile",    "stages", "splitk", "reduction",
                                                     "swizzle", "custom", "inner",  "cluster"};

bool is_short(cublasLtMatmulAlgoConfigAttributes_t attribute) {
  return attribute == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
}

std::string identity_of(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text = fmt::format("cublas {}", configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID));
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const std::uint32_t value = is_short(attributes[i]) ? configured<std::uint16_t>(algorithm, attributes[i])
                                                        : configured<std::uint32_t>(algorithm, attributes[i]);
    text += fmt::format(" {} {}", attribute_names[i], value);
  }
  return text;
}

}  // namespace

struct CublasMatmul::State {
  cublasLtHandle_t handle = nullptr;
  ~State() {
    if (handle != nullptr) cublasLtDestroy(handle);
  }
};

namespace {

/// A product as descriptors of cuBLAS.
struct Described {
  cublasLtHandle_t handle = nullptr;
  Product product;
  Layout first, second, c, d;
  LaunchTensor first_tensor, second_tensor;
  std::optional<LaunchTensor> bias, residual;
  LaunchTensor y;
  double alpha = 1;
  bool is_double = false;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t type = CUDA_R_32F, scale = CUDA_R_32F, factor_type = CUDA_R_32F;

  Described(cublasLtHandle_t library, const MatmulLaunch& launch) : handle(library), y(launch.y) {
    const MatmulShape shape = shape_of(launch);
    if (shape.batches.size() > 1) throw Refusal("cuBLAS: several batch dimensions");
    if (launch.a.element != launch.b.element) throw Refusal("cuBLAS: factors of different types");
    const Epilogue epilogue = epilogue_of(launch, shape);
    alpha = epilogue.alpha;
    type = type_of(y.element);
    factor_type = type_of(launch.a.element);
    is_double = y.element == ElementType::float64;
    if (is_double) scale = CUDA_R_64F;
    compute = is_double                                                    ? CUBLAS_COMPUTE_64F
              : launch.is_tf32 && launch.a.element == ElementType::float32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                           : CUBLAS_COMPUTE_32F;

    // cuBLAS writes column-major results: our rows are its columns, so the factors change places. For a transposed
    // result they do not.
    const bool is_row_major = shape.columns.extent == 1 || shape.columns.y == 1;
    if (!is_row_major && epilogue.bias) throw Refusal("cuBLAS: a bias along the rows");
    const auto& upper = is_row_major ? shape.columns : shape.rows;
    const auto& lower = is_row_major ? shape.rows : shape.columns;
    const Matrix result = column_major(upper.extent, lower.extent, upper.extent == 1 ? 1 : upper.y, lower.y);
    if (result.is_transposed) throw Refusal("cuBLAS: a result with gaps");
    const std::int64_t upper_stride = is_row_major ? upper.b : upper.a;
    const std::int64_t lower_stride = is_row_major ? lower.a : lower.b;
    const std::int64_t upper_depth = is_row_major ? shape.b_depth : shape.a_depth;
    const std::int64_t lower_depth = is_row_major ? shape.a_depth : shape.b_depth;
    const Matrix left = column_major(upper.extent, shape.depth, upper_stride, upper_depth);
    const Matrix right = column_major(shape.depth, lower.extent, lower_depth, lower_stride);
    first_tensor = is_row_major ? launch.b : launch.a;
    second_tensor = is_row_major ? launch.a : launch.b;

    const MatmulShape::Axis batch = shape.batches.empty() ? MatmulShape::Axis{} : shape.batches.front();
    first = layout_of(left, factor_type, batch.extent, is_row_major ? batch.b : batch.a);
    second = layout_of(right, factor_type, batch.extent, is_row_major ? batch.a : batch.b);
    d = layout_of(result, type, batch.extent, batch.y);
    if (epilogue.residual) {
      const std::size_t at = *epilogue.residual;
      residual = launch.epilogue[at].operand;
      const Matrix summand =
          column_major(upper.extent, lower.extent, upper.extent == 1 ? 1 : upper.operands[at], lower.operands[at]);
      if (summand.is_transposed) throw Refusal("cuBLAS: a residual with another layout than the result");
      c = layout_of(summand, type, batch.extent, batch.operands.empty() ? 0 : batch.operands[at]);
    } else {
      c = layout_of(result, type, batch.extent, batch.y);
    }

    cublasLtMatmulDesc_t made = nullptr;
    require(cublasLtMatmulDescCreate(&made, compute, scale), "a product");
    product.reset(made);
    set(CUBLASLT_MATMUL_DESC_TRANSA, left.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, right.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<cublasLtEpilogue_t>(epilogue.activation));
    if (epilogue.bias) {
      bias = launch.epilogue[*epilogue.bias].operand;
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
      // Not read before the launch, but the heuristics look at its alignment.
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(Alignments::usual));
    }
  }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    require(cublasLtMatmulDescSetAttribute(product.get(), attribute, &value, sizeof value), "a product's attribute");
  }

  /// Checks an algorithm, and refuses one that needs more memory than the limit.
  cublasLtMatmulHeuristicResult_t checked(const cublasLtMatmulAlgo_t& algorithm) const {
    cublasLtMatmulHeuristicResult_t result{};
    require(cublasLtMatmulAlgoCheck(handle, product.get(), first.get(), second.get(), c.get(), d.get(), &algorithm,
                                    &result),
            "an algorithm");
    require(result.state, "an algorithm");
    if (result.workspaceSize > workspace_limit) throw EnvironmentError("cuBLAS: the algorithm needs too much memory");
    return result;
  }
};

class PreparedMatmul : public Prepared {
 public:
  PreparedMatmul(std::shared_ptr<void> library, std::shared_ptr<Described> described,
                 const cublasLtMatmulAlgo_t& algorithm, std::size_t workspace)
      : library_(std::move(library)), described_(std::move(described)), algorithm_(algorithm), workspace_(workspace) {}

  std::size_t workspace_bytes() const override { return workspace_; }

  void launch(cudaStream_t stream, const Places& places) override {
    Described& it = *described_;
    if (it.bias) it.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(places.of(it.bias->memory)));
    const double double_alpha = it.alpha, double_beta = it.residual ? 1 : 0;
    const float alpha = static_cast<float>(double_alpha), beta = static_cast<float>(double_beta);
    void* const result = places.of(it.y.memory);
    const void* const summand = it.residual ? places.of(it.residual->memory) : result;
    require(cublasLtMatmul(it.handle, it.product.get(), it.is_double ? static_cast<const void*>(&double_alpha) : &alpha,
                           places.of(it.first_tensor.memory), it.first.get(), places.of(it.second_tensor.memory),
                           it.second.get(), it.is_double ? static_cast<const void*>(&double_beta) : &beta, summand,
                           it.c.get(), result, it.d.get(), &algorithm_, places.workspace, workspace_, stream),
            "a product");
  }

 private:
  std::shared_ptr<void> library_;
  std::shared_ptr<Described> described_;
  cublasLtMatmulAlgo_t algorithm_;
  std::size_t workspace_;
};

}  // namespace

CublasMatmul::CublasMatmul() : state_(std::make_shared<State>()) {
  require(cublasLtCreate(&state_->handle), "a handle");
}
CublasMatmul::~CublasMatmul() = default;

std::vector<Alternative> CublasMatmul::alternatives(const MatmulLaunch& launch, const Alignments& alignments,
                                                    std::string& reason) const {
  try {
    auto described = std::make_shared<Described>(state_->handle, launch);
    cublasLtMatmulPreference_t made = nullptr;
    require(cublasLtMatmulPreferenceCreate(&made), "a preference");
    const Preference preference(made);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      require(cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof value), "a preference");
    };
    const auto alignment = [&](const LaunchTensor& tensor) {
      return static_cast<std::uint32_t>(alignments.of(tensor.memory));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_limit);
    // Partial sums stay in float32.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(described->first_tensor));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(described->second_tensor));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
           alignment(described->residual ? *described->residual : described->y));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(described->y));

    std::array<cublasLtMatmulHeuristicResult_t, most_algorithms> results{};
    int count = 0;
    require(cublasLtMatmulAlgoGetHeuristic(state_->handle, described->product.get(), described->first.get(),
                                           described->second.get(), described->c.get(), described->d.get(), made,
                                           most_algorithms, results.data(), &count),
            "no algorithm");
    std::vector<Alternative> list;
    for (int i = 0; i < count; ++i) {
      const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
      if (result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > workspace_limit) continue;
      list.push_back({identity_of(result.algo),
                      [library = state_, described, algorithm = result.algo, workspace = result.workspaceSize] {
                        return std::make_unique<PreparedMatmul>(library, described, algorithm, workspace);
                      }});
    }
    if (list.empty()) reason = "cuBLAS: no algorithm";
    return list;
  } catch (const EnvironmentError& error) {
    reason = error.what();
    return {};
  }
}

std::unique_ptr<Prepared> CublasMatmul::prepare(const MatmulLaunch& launch, const Alignments&,
                                                const std::string& identity) const {
  auto described = std::make_shared<Described>(state_->handle, launch);
  std::istringstream words(identity);
  std::string word;
  int id = 0;
  if (!(words >> word >> id) || word != "cublas") throw EnvironmentError("cuBLAS: no such algorithm");
  cublasLtMatmulAlgo_t algorithm{};
  require(cublasLtMatmulAlgoInit(state_->handle, described->compute, described->scale, described->factor_type,
                                 described->factor_type, described->type, described->type, id, &algorithm),
          "an algorithm");
  std::uint32_t value = 0;
  while (words >> word >> value) {
    const auto* const found = std::find(attribute_names.begin(), attribute_names.end(), word);
    if (found == attribute_names.end()) throw EnvironmentError("cuBLAS: no such attribute of an algorithm");
    const auto attribute = attributes[static_cast<std::size_t>(found - attribute_names.begin())];
    const auto small = static_cast<std::uint16_t>(value);
    const bool shortened = is_short(attribute);
    require(cublasLtMatmulAlgoConfigSetAttribute(&algorithm, attribute,
                                                 shortened ? static_cast<const void*>(&small) : &value,
                                                 shortened ? sizeof small : sizeof value),
            "an algorithm's attribute");
  }
  const cublasLtMatmulHeuristicResult_t result = described->checked(algorithm);
  return std::make_unique<PreparedMatmul>(state_, std::move(described), algorithm, result.workspaceSize);
}

}  // namespace taso::gpu::cuda

#else

namespace taso::gpu::cuda {

struct CublasMatmul::State {};
CublasMatmul::CublasMatmul() = default;
CublasMatmul::~CublasMatmul() = default;
std::vector<Alternative> CublasMatmul::alternatives(const MatmulLaunch&, const Alignments&, std::string& reason) const {
  reason = "this build has no cuBLAS";
  return {};
}
std::unique_ptr<Prepared> CublasMatmul::prepare(const MatmulLaunch&, const Alignments&, const std::string&) const {
  throw EnvironmentError("this build has no cuBLAS");
}

}  // namespace taso::gpu::cuda
#endif
