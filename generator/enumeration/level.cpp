#include "generator/enumeration/level.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ops/cluster/bytes.h"

namespace taso::generator {

// Their bytes are kept in files, so there must be no gaps of any contents.
static_assert(sizeof(Fresh) == sizeof(Fingerprint) + sizeof(Form) + sizeof(double));
static_assert(std::has_unique_object_representations_v<Found> && std::has_unique_object_representations_v<Form>);

std::string bytes_of(const Share& share) {
  std::string bytes;
  put(bytes, static_cast<std::uint8_t>(share.complete));
  put(bytes, share.values);
  put(bytes, share.evaluations);
  put(bytes, share.spilled);
  put(bytes, share.graphs);
  put_list(bytes, std::span(share.known));
  put(bytes, static_cast<std::uint64_t>(share.classes.size()));
  for (const Class& one : share.classes) {
    put(bytes, one.key);
    put(bytes, one.graphs);
    put_list(bytes, std::span(one.forms));
  }
  return bytes;
}

Share share_from(const std::string& bytes) {
  Share share;
  ByteReader reader(bytes);
  share.complete = reader.get<std::uint8_t>() != 0;
  share.values = reader.get<std::uint64_t>();
  share.evaluations = reader.get<std::uint64_t>();
  share.spilled = reader.get<std::uint64_t>();
  share.graphs = reader.get<double>();
  reader.get_list(share.known);
  share.classes.resize(reader.get<std::uint64_t>());
  for (Class& one : share.classes) {
    one.key = reader.get<Fingerprint>();
    one.graphs = reader.get<double>();
    reader.get_list(one.forms);
  }
  return share;
}

std::vector<Share> shares_of_all(Share mine, Communicator& ranks) {
  std::vector<Share> shares;
  if (ranks.size() == 1) {
    shares.push_back(std::move(mine));
    return shares;
  }
  std::string message = bytes_of(mine);
  mine = {};
  for (std::string& one : ranks.gather(std::move(message))) {
    shares.push_back(share_from(one));
    one = {};
  }
  return shares;
}

std::string bytes_of(const Level& level) {
  std::string bytes;
  put(bytes, level.values);
  put(bytes, level.evaluations);
  put(bytes, level.graphs);
  put_list(bytes, std::span(level.fresh));
  put_list(bytes, std::span(level.found));
  return bytes;
}

Level level_from(const std::string& bytes) {
  Level level;
  ByteReader reader(bytes);
  level.values = reader.get<std::uint64_t>();
  level.evaluations = reader.get<std::uint64_t>();
  level.graphs = reader.get<double>();
  reader.get_list(level.fresh);
  reader.get_list(level.found);
  return level;
}

std::optional<Level> level_of(std::vector<Share> shares, ValueId first) {
  Level level;
  std::vector<Class> classes;
  for (Share& share : shares) {
    if (!share.complete) return std::nullopt;
    std::move(share.classes.begin(), share.classes.end(), std::back_inserter(classes));
    level.found.insert(level.found.end(), share.known.begin(), share.known.end());
    level.values += share.values;
    level.evaluations += share.evaluations;
    level.spilled += share.spilled;
    level.graphs += share.graphs;
    share = {};
  }
  // The results of one application are adjacent.
  std::sort(classes.begin(), classes.end(), [](const Class& a, const Class& b) {
    const Form &x = a.forms[0], &y = b.forms[0];
    return std::tie(x.schema, x.count, x.operands, x.output) < std::tie(y.schema, y.count, y.operands, y.output);
  });
  ValueId id = first;
  for (const Class& one : classes) {
    level.fresh.push_back({one.key, one.forms[0], one.graphs});
    for (std::size_t i = 1; i < one.forms.size(); ++i) level.found.push_back({id, Found::none, one.forms[i]});
    ++id;
  }
  std::sort(level.found.begin(), level.found.end());
  return level;
}

}  // namespace taso::generator
