#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "python/extension/support.h"

namespace taso::python {

struct ExchangeInterface;

/// Runs of a session with plain tensors of PyTorch, without steps of Python: a small network takes no longer than
/// they would. It reads tensors by the functions that PyTorch (2.10 and newer) has for that (DLPack's exchange
/// interface in C).
class TensorCalls {
 public:
  /// How this PyTorch makes the outputs, and where.
  struct Outputs {
    std::vector<nb::object> names;
    std::vector<std::int32_t> types;
    std::vector<nb::object> torch_types;
    nb::object device;  ///< a torch.device
  };

  /// Nothing if this PyTorch has no such functions. `device` is the number of the GPU; -1: the host.
  static std::optional<TensorCalls> with(const nb::object& torch, std::vector<std::int32_t> input_types,
                                         Outputs outputs, std::int32_t device);

  /// The outputs by name: those of `given_outputs`, or new ones if that is none. The run is ordered on `stream`, or on
  /// PyTorch's current one. None if it is no usual case: all inputs and outputs are contiguous tensors of the model's
  /// types, where the session runs, with elements; the shapes of inputs tell those of outputs, and given outputs have
  /// exactly these.
  nb::object run(taso_session* session, const nb::sequence& inputs, const nb::object& given_outputs,
                 std::optional<std::uintptr_t> stream);

 private:
  using Shape = std::vector<std::int64_t>;
  struct Known {
    Shape inputs;  ///< for each the rank and the sizes
    std::vector<Shape> outputs;
    std::vector<nb::object> tuples;  ///< the same, for PyTorch
  };

  TensorCalls() = default;
  bool read(nb::handle tensor, std::int32_t type, taso_tensor& read) const;
  std::shared_ptr<const Known> shapes_for(const taso_session* session, const std::vector<taso_tensor>& inputs);

  const ExchangeInterface* exchange_ = nullptr;
  nb::object tensor_type_, is_negated_, empty_;
  std::vector<std::int32_t> input_types_;
  Outputs outputs_;
  std::int32_t device_ = -1;
  std::vector<std::shared_ptr<const Known>> known_;  ///< the last one that was asked for comes first
};

}  // namespace taso::python
