#include "cli/verify/proof_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/console/version.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"
#include "ops/support/data_files.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"
#include "verifier/version.h"

namespace taso::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view first_line = "taso proofs 1";
/// A larger cache is emptied.
constexpr std::size_t most_entries = 200'000;
constexpr std::uintmax_t largest_file = std::uintmax_t{512} << 20;

/// The rule by its hash and its text, because a witness names the inputs.
std::string key_of(const rules::Rule& rule, const std::string& hash) {
  std::vector<std::string> conditions;
  for (const rules::Condition& condition : rule.conditions) conditions.push_back(rules::text_of(condition));
  return Json{{"hash", hash},
              {"source", rules::text_of(rule.source)},
              {"target", rules::text_of(rule.target)},
              {"where", conditions}}
      .dump();
}

std::string facts_of(const verifier::RuleVerdict& verdict) {
  return Json{{"properties", verdict.properties},
              {"instances", verdict.instances},
              {"by_properties", verdict.by_properties},
              {"by_normal_form", verdict.by_normal_form},
              {"witness", verdict.witness}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<verifier::RuleVerdict> verdict_of(const std::string& facts) {
  const Json json = Json::parse(facts, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    verifier::RuleVerdict verdict;
    verdict.kind = verifier::RuleVerdict::Kind::proved;
    verdict.properties = json.at("properties").get<std::vector<std::string>>();
    verdict.instances = json.at("instances").get<std::size_t>();
    verdict.by_properties = json.at("by_properties").get<std::size_t>();
    verdict.by_normal_form = json.at("by_normal_form").get<std::size_t>();
    verdict.witness = json.at("witness").get<std::string>();
    return verdict;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

/// Held by one process at a time. If the lock is not free within a second, continues without it.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder)
      : descriptor_(::open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    for (int i = 0; descriptor_ >= 0 && i < 100; ++i) {
      if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
      ::usleep(10'000);
    }
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_;
};

}  // namespace

std::optional<std::filesystem::path> default_cache_folder() {
  const auto cache = user_cache_folder();
  return cache ? std::optional(*cache / "proofs") : std::nullopt;
}

ProofCache::ProofCache(const std::filesystem::path& folder, const std::string& properties,
                       const verifier::VerifyOptions& options)
    : context_(Json{{"properties", properties},
                    {"verifier", verifier::verifier_revision},
                    {"program", program_version()},
                    {"z3", verifier::z3_version()},
                    {"effort", options.effort},
                    {"seed", options.seed},
                    {"second_opinion", options.second_opinion}}
                   .dump()),
      file_(folder / (rules::hash_of_text(context_).substr(0, 32) + ".proofs")),
      known_(read()) {}

ProofCache::Entries ProofCache::read() const {
  Entries entries;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file_, error) || std::filesystem::file_size(file_, error) > largest_file)
    return entries;
  std::ifstream stream(file_, std::ios::binary);
  std::string line;
  if (!std::getline(stream, line) || line != first_line || !std::getline(stream, line) || line != context_)
    return entries;
  // Each line is a checksum of the rest, the key, and the facts. Lines that do not fit are skipped.
  while (std::getline(stream, line)) {
    const std::size_t sum = line.find('\t');
    if (sum == std::string::npos || line.substr(0, sum) != rules::hash_of_text(line.substr(sum + 1))) continue;
    const std::size_t key = line.find('\t', sum + 1);
    if (key != std::string::npos) entries.emplace(line.substr(sum + 1, key - sum - 1), line.substr(key + 1));
  }
  return entries;
}

std::optional<verifier::RuleVerdict> ProofCache::find(const rules::Rule& rule, const std::string& hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key_of(rule, hash));
  return found == known_.end() ? std::nullopt : verdict_of(found->second);
}

void ProofCache::add(const rules::Rule& rule, const std::string& hash, const verifier::RuleVerdict& verdict) {
  if (verdict.kind != verifier::RuleVerdict::Kind::proved || !verdict.disagreement.empty()) return;
  const std::lock_guard lock(mutex_);
  fresh_.emplace(key_of(rule, hash), facts_of(verdict));
}

void ProofCache::save() {
  const std::lock_guard guard(mutex_);
  if (fresh_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  if (error)
    throw EnvironmentError(fmt::format("cannot make the folder {}: {}", file_.parent_path().string(), error.message()));
  const FolderLock lock(file_.parent_path());
  Entries all = read();
  if (all.size() + fresh_.size() > most_entries) all.clear();
  all.merge(Entries(fresh_));
  std::string text = fmt::format("{}\n{}\n", first_line, context_);
  for (const auto& [key, facts] : all) {
    const std::string entry = fmt::format("{}\t{}", key, facts);  // JSON contains no raw tabs
    text += fmt::format("{}\t{}\n", rules::hash_of_text(entry), entry);
  }
  AtomicFile file(file_);
  file.write(text.data(), text.size());
  file.rename();
  known_ = std::move(all);
  fresh_.clear();
}

}  // namespace taso::cli
