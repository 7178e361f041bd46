#include "cli/gen/checkpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/console/exit_code.h"
#include "generator/decision_text.h"
#include "ops/core/error.h"
#include "rules/language/canonical.h"

namespace taso::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view first_line = "taso checkpoint 1\n";

std::string with_checksum(const std::string& text) { return fmt::format("{}\t{}\n", rules::hash_of_text(text), text); }

/// The first difference of two contexts, for people.
std::string difference(const std::string& there, const std::string& here) {
  const Json theirs = Json::parse(there, nullptr, false), ours = Json::parse(here, nullptr, false);
  if (theirs.is_object() && ours.is_object())
    for (const auto& [key, value] : ours.items())
      if (!theirs.contains(key) || theirs.at(key) != value) return key;
  return "something";
}

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw EnvironmentError(fmt::format("cannot write the checkpoint {}: {}", file.string(), std::strerror(error)));
}

std::string read_all(int descriptor, const std::filesystem::path& file) {
  constexpr std::size_t most = std::size_t{2} << 30;
  std::string text;
  char buffer[1 << 16];
  while (text.size() < most) {
    const ssize_t got = ::pread(descriptor, buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw EnvironmentError(fmt::format("cannot read the checkpoint {}: {}", file.string(), std::strerror(errno)));
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

Checkpoint::Checkpoint(std::filesystem::path file, std::string context, bool resume)
    : file_(std::move(file)), context_(std::move(context)) {
  open();
  try {
    if (resume) read();
    replaced_ = !resume && size_ > 0;
    if (header_size_ == 0) {
      begin_file();
    } else {
      cut(size_);  // an incomplete line at the end
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

Checkpoint::~Checkpoint() {
  if (descriptor_ < 0) return;
  if (!is_useful()) ::unlink(file_.c_str());
  ::close(descriptor_);
}

bool Checkpoint::is_useful() const { return descriptor_ >= 0 && (written_ > 0 || !known_.empty()); }

void Checkpoint::open() {
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor_ < 0) fail(file_, errno);
  const auto refuse = [&](auto error) {
    ::close(descriptor_);
    throw error;
  };
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode))
    refuse(EnvironmentError(fmt::format("the checkpoint {} is not a regular file", file_.string())));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
    refuse(EnvironmentError(fmt::format("the checkpoint {} is used by another run", file_.string())));
  std::string begin(first_line.size(), '\0');
  const ssize_t got = ::pread(descriptor_, begin.data(), begin.size(), 0);
  if (got < 0 || !first_line.starts_with(begin.substr(0, static_cast<std::size_t>(got))))
    refuse(UsageError(fmt::format("{} is not a checkpoint of this program, and is not replaced", file_.string())));
  size_ = static_cast<std::size_t>(status.st_size);
}

void Checkpoint::begin_file() {
  cut(0);
  try {
    append(std::string(first_line) + with_checksum(context_));
  } catch (...) {
    ::unlink(file_.c_str());  // the file is empty
    throw;
  }
  header_size_ = size_;
}

void Checkpoint::read() {
  const std::string text = read_all(descriptor_, file_);
  is_damaged_ = !text.empty() && text != first_line;  // until more could be read
  std::size_t at = first_line.size();
  /// The next line without its checksum, if it is complete.
  const auto next = [&]() -> std::optional<std::string> {
    const std::size_t end = text.find('\n', std::min(at, text.size()));
    if (end == std::string::npos) return std::nullopt;
    const std::size_t tab = text.find('\t', at);
    if (tab >= end) return std::nullopt;
    std::string line = text.substr(tab + 1, end - tab - 1);
    if (rules::hash_of_text(line) != std::string_view(text).substr(at, tab - at)) return std::nullopt;
    at = end + 1;
    return line;
  };
  size_ = 0;
  const auto context = next();
  if (!context) return;
  if (*context != context_)
    throw UsageError(fmt::format("the checkpoint {} is of another run ({} differs); without --resume it is replaced",
                                 file_.string(), difference(*context, context_)));
  header_size_ = size_ = at;
  is_damaged_ = size_ < text.size();
  const auto candidates = next();
  if (!candidates) return;
  candidates_ = *candidates;
  size_ = at;
  while (const auto line = next()) {
    size_ = at;
    const std::size_t tab = line->find('\t');
    if (tab != std::string::npos) known_.insert_or_assign(line->substr(0, tab), line->substr(tab + 1));
  }
  is_damaged_ = size_ < text.size();
}

void Checkpoint::cut(std::size_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail(file_, errno);
  size_ = size;
}

void Checkpoint::append(const std::string& line) {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t put = ::pwrite(descriptor_, line.data() + done, line.size() - done, static_cast<off_t>(size_ + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put < 0 ? errno : ENOSPC;
      // This may fail: an incomplete line is not read anyway.
      [[maybe_unused]] const int cut_back = ::ftruncate(descriptor_, static_cast<off_t>(size_));
      fail(file_, error);
    }
    done += static_cast<std::size_t>(put);
  }
  size_ += line.size();
}

void Checkpoint::begin(const std::string& candidates) {
  const std::lock_guard lock(mutex_);
  if (candidates == candidates_) return;
  known_.clear();
  candidates_ = candidates;
  cut(header_size_);
  append(with_checksum(candidates));
}

std::optional<generator::Decision> Checkpoint::recall(const std::string& candidate) const {
  const std::string key = rules::hash_of_text(candidate);
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    if (found == known_.end()) return std::nullopt;
    text = found->second;
  }
  return generator::decision_from(text);
}

void Checkpoint::remember(const std::string& candidate, const generator::Decision& decision) {
  const std::string line =
      with_checksum(fmt::format("{}\t{}", rules::hash_of_text(candidate), generator::text_of(decision)));
  const std::lock_guard lock(mutex_);
  append(line);
  ++written_;
}

void Checkpoint::remove() {
  if (descriptor_ < 0) return;
  ::unlink(file_.c_str());
  ::close(std::exchange(descriptor_, -1));
}

}  // namespace taso::cli
