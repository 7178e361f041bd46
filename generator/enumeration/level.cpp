#include "generator/enumeration/level.h"

#include <span>
#include <type_traits>

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

}  // namespace taso::generator
