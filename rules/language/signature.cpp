#include "rules/language/signature.h"

#include <algorithm>
#include <map>
#include <set>

namespace taso::rules {
namespace {

struct KindOfField {
  ValueKind operator()(bool) const { return ValueKind::boolean; }
  ValueKind operator()(double) const { return ValueKind::real; }
  ValueKind operator()(std::int64_t) const { return ValueKind::integer; }
  ValueKind operator()(const Dim&) const { return ValueKind::integer; }
  ValueKind operator()(ElementType) const { return ValueKind::integer; }
  template <class T>
  ValueKind operator()(const std::vector<T>&) const {
    return ValueKind::list;
  }
};

std::vector<Signature> make_signatures() {
  std::vector<Signature> all;
  for (const Operator& op : all_operators()) {
    Signature signature{ops::name_of(op), min_inputs(op), max_inputs(op), outputs_of(op), {}, traits_of(op)};
    for (NamedField& field : fields_of(op))
      if (!std::holds_alternative<ElementType>(field.value)) {
        const ValueKind kind = std::visit(KindOfField{}, field.value);
        signature.fields.push_back({field.name, kind, std::move(field.value)});
      }
    all.push_back(std::move(signature));
  }
  return all;
}

}  // namespace

std::string_view text_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::integer: return "an integer";
    case ValueKind::list: return "a list";
    case ValueKind::boolean: return "true or false";
    case ValueKind::real: return "a number";
  }
  return "";
}

const FieldSignature* Signature::field(std::string_view field_name) const {
  const auto place = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == field_name; });
  return place == fields.end() ? nullptr : &*place;
}

std::span<const Signature> signatures() {
  static const std::vector<Signature> all = make_signatures();
  return all;
}

const Signature* signature_of(std::string_view operator_name) {
  static const auto index = [] {
    std::map<std::string_view, const Signature*> by_name;
    for (const Signature& signature : signatures()) by_name[signature.name] = &signature;
    return by_name;
  }();
  const auto place = index.find(operator_name);
  return place == index.end() ? nullptr : place->second;
}

bool has_trait(std::string_view operator_name, Trait trait) {
  const Signature* const signature = signature_of(operator_name);
  return signature != nullptr && signature->traits.has(trait);
}

bool is_function(std::string_view operator_name, std::size_t operands) {
  return has_trait(operator_name, Trait::element_wise) && signature_of(operator_name)->max_operands == operands;
}

bool must_be_given(std::string_view field) {
  static const std::set<std::string_view> needed{"kernel",   "permutation", "axes",  "shape", "size",
                                                 "channels", "at",          "begin", "end"};
  return needed.contains(field);
}

}  // namespace taso::rules
