#include "generator/family_findings.h"

#include <utility>

#include "ops/cluster/bytes.h"

namespace taso::generator {
namespace {

void put_term(std::string& bytes, const SmallTerm& term) {
  put(bytes, static_cast<std::uint64_t>(term.nodes.size()));
  for (const SmallTerm::Node& node : term.nodes) {
    put(bytes, node.schema);
    put(bytes, node.output);
    put(bytes, node.place);
    put_list(bytes, std::span(node.operands));
  }
}

SmallTerm get_term(ByteReader& reader) {
  SmallTerm term;
  const auto count = reader.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    SmallTerm::Node& node = term.nodes.emplace_back();
    node.schema = reader.get<std::uint16_t>();
    node.output = reader.get<std::uint8_t>();
    node.place = reader.get<std::uint16_t>();
    reader.get_list(node.operands);
  }
  return term;
}

}  // namespace

std::string bytes_of(const FamilyFindings& findings) {
  std::string bytes;
  const FamilyReport& report = findings.report;
  put_text(bytes, report.name);
  for (const std::uint64_t count :
       {report.evaluations, report.values, report.equalities, findings.renamed, findings.following})
    put(bytes, count);
  put(bytes, report.graphs);
  put(bytes, static_cast<std::uint8_t>(report.is_in_order));
  put(bytes, static_cast<std::uint64_t>(findings.equalities.size()));
  for (const Equality& equality : findings.equalities)
    for (const auto* side : {&equality.left, &equality.right}) {
      put(bytes, static_cast<std::uint64_t>(side->size()));
      for (const SmallTerm& term : *side) put_term(bytes, term);
    }
  return bytes;
}

FamilyFindings family_findings_from(const std::string& bytes) {
  FamilyFindings findings;
  FamilyReport& report = findings.report;
  ByteReader reader(bytes);
  report.name = reader.get_text();
  for (std::uint64_t* count :
       {&report.evaluations, &report.values, &report.equalities, &findings.renamed, &findings.following})
    *count = reader.get<std::uint64_t>();
  report.graphs = reader.get<double>();
  report.is_in_order = reader.get<std::uint8_t>() != 0;
  const auto count = reader.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    Equality& equality = findings.equalities.emplace_back();
    for (auto* side : {&equality.left, &equality.right}) {
      const auto terms = reader.get<std::uint64_t>();
      for (std::uint64_t k = 0; k < terms; ++k) side->push_back(get_term(reader));
    }
  }
  return findings;
}

FamilyFindings find_in(const Family& family, EnumerateOptions enumerating, SelectOptions selecting,
                       const StageFunctions& stages, const std::string& name) {
  const StageStore store(stages, name);
  OneRank alone;
  Communicator& ranks = enumerating.ranks ? *enumerating.ranks : alone;
  const std::string stage = "findings";
  const auto forget_parts = [&] {
    store.forget("selection");
    for (std::size_t level = 1; level <= enumerating.max_operators; ++level) store.forget(level_stage(level));
  };
  if (const auto kept = store.load(ranks, stage)) {
    forget_parts();  // the earlier run may have been killed before it did
    return family_findings_from(*kept);
  }

  enumerating.stages = selecting.stages = store;
  Enumeration enumeration = enumerate(family, enumerating);
  FamilyFindings findings;
  findings.report = {name,
                     enumeration.evaluations,
                     enumeration.values,
                     enumeration.equalities,
                     enumeration.graphs,
                     enumeration.memory,
                     enumeration.spilled,
                     enumerating.contents == Contents::integers};
  findings.renamed = enumeration.found.size();
  findings.complete = enumeration.complete;
  Selection selection = select(family, std::move(enumeration), selecting);
  findings.complete = findings.complete && selection.complete;
  findings.following = selection.following;
  findings.equalities = std::move(selection.equalities);
  if (findings.complete && store.is_worth(findings.report.evaluations)) {
    store.save(stage, bytes_of(findings));
    forget_parts();
  }
  return findings;
}

}  // namespace taso::generator
