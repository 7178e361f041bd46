#include "cli/gen/stage_files.h"

#include <cctype>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"
#include "ops/support/sha256.h"

namespace taso::cli {
namespace {

constexpr std::string_view format_line = "taso stage 1\n";
constexpr std::string_view suffix = ".stage";

std::string digest_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.digest();
}

}  // namespace

StageFiles::StageFiles(std::filesystem::path folder, const std::string& context, bool resume)
    : folder_(std::move(folder)), head_(std::string(format_line) + digest_of(context) + "\n") {
  if (!resume) {
    remove();
    return;
  }
  for (const std::filesystem::path& file : files()) {
    std::string head(head_.size(), '\0');
    std::ifstream(file, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
    // What is damaged is found when it is loaded.
    if (head.starts_with(format_line) && head != head_ && head.back() == '\n')
      throw UsageError(fmt::format("{} is of another run; without --resume it is removed", file.string()));
  }
}

std::filesystem::path StageFiles::file_of(const std::string& stage) const {
  std::string name;
  for (const char character : stage) name += std::isalnum(static_cast<unsigned char>(character)) ? character : '-';
  return folder_ / (name + std::string(suffix));
}

std::string StageFiles::head_of(const std::string& stage) const { return head_ + stage + "\n"; }

std::vector<std::filesystem::path> StageFiles::files() const {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == suffix) found.push_back(entry->path());
  return found;
}

std::optional<std::string> StageFiles::load(const std::string& stage) {
  const std::lock_guard lock(mutex_);
  std::ifstream file(file_of(stage), std::ios::binary);
  if (!file) return std::nullopt;
  std::string head(head_of(stage).size(), '\0'), hash(digest_of("").size() + 1, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  file.read(hash.data(), static_cast<std::streamsize>(hash.size()));
  std::string state{std::istreambuf_iterator<char>(file), {}};
  if (head == head_of(stage) && hash == digest_of(state) + "\n") return state;
  damaged_.push_back(stage);
  return std::nullopt;
}

void StageFiles::save(const std::string& stage, const std::string& state) {
  const std::lock_guard lock(mutex_);
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw EnvironmentError(fmt::format("cannot make the folder {}: {}", folder_.string(), error.message()));
  AtomicFile file(file_of(stage));
  const std::string head = head_of(stage) + digest_of(state) + "\n";
  file.write(head.data(), head.size());
  file.write(state.data(), state.size());
  file.sync();
  file.rename();
}

void StageFiles::forget(const std::string& stage) {
  const std::lock_guard lock(mutex_);
  std::error_code error;
  std::filesystem::remove(file_of(stage), error);
}

void StageFiles::remove() {
  const std::lock_guard lock(mutex_);
  std::error_code error;
  if (!std::filesystem::is_directory(folder_, error)) return;
  { const AtomicFile trial(file_of("end")); }  // removes what a run that was killed had not renamed
  for (const std::filesystem::path& file : files()) {
    std::filesystem::remove(file, error);
    if (error) throw EnvironmentError(fmt::format("cannot remove {}: {}", file.string(), error.message()));
  }
  std::filesystem::remove(folder_, error);  // if nothing else is in it
}

bool StageFiles::is_useful() const { return !files().empty(); }

std::vector<std::string> StageFiles::damaged() const {
  const std::lock_guard lock(mutex_);
  return damaged_;
}

}  // namespace taso::cli
