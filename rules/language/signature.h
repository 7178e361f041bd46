// What a rule needs to know about an operator: its operands, results and attributes, looked up once.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ops/graph/operator.h"

namespace taso::rules {

/// The kind of a term or an attribute.
enum class ValueKind { integer, list, boolean, real };
std::string_view text_of(ValueKind kind);  ///< "an integer"

struct FieldSignature {
  std::string_view name;
  ValueKind kind = ValueKind::integer;
  FieldValue standard;  ///< the operator's own default
};

struct Signature {
  std::string_view name;
  std::size_t min_operands = 0, max_operands = 0, results = 1;
  std::vector<FieldSignature> fields;  ///< in the operator's order, without `type`
  Traits traits;

  const FieldSignature* field(std::string_view field_name) const;
};

/// Whether patterns must give the field, because its default means nothing.
bool must_be_given(std::string_view field);

std::span<const Signature> signatures();
/// Null if there is no operator of that name.
const Signature* signature_of(std::string_view operator_name);
/// Whether there is an operator of that name, with that trait.
bool has_trait(std::string_view operator_name, Trait trait);
/// Whether it is element-wise, of that many operands.
bool is_function(std::string_view operator_name, std::size_t operands);

}  // namespace taso::rules
