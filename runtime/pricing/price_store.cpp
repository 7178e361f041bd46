#include "runtime/pricing/price_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/support/atomic_file.h"
#include "ops/support/data_files.h"
#include "ops/text/characters.h"
#include "ops/text/source.h"

namespace taso::pricing {
namespace {

namespace fs = std::filesystem;

fs::path own_file() {
  const auto cache = user_cache_folder();
  return cache ? *cache / "measured.prices" : fs::path();
}

cost::PriceDatabase read(const fs::path& file) {
  const Source source = Source::read(file.string());
  return cost::PriceDatabase::parse(source.text(), source.name());
}

/// Keeps other processes from saving into the folder at the same time. Does nothing if the file system has no locks.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (folder_ >= 0 && ::flock(folder_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

}  // namespace

void require_prices(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error))
    throw InputError(
        fmt::format("--prices: {} does not exist (it is only created by measuring)", on_one_line(file.string())));
}

PriceStore::PriceStore(std::optional<fs::path> file, std::string_view shipped, bool with_own)
    : file_(file ? *file : own_file()) {
  if (const auto folder = shipped.empty() ? std::nullopt : find_data_file(shipped)) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(*folder))
      if (entry.path().extension() == ".prices") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& one : files) all_->merge(read(one));
  }
  if (const auto machines = all_->machines(); !machines.empty()) shipped_machine_ = machines.front();
  std::error_code error;
  if ((!file && !with_own) || file_.empty() || !fs::exists(file_, error)) return;
  try {
    all_->merge(read(file_));
  } catch (const InputError& trouble) {
    throw InputError(fmt::format("{} (move the file away, or name another with --prices)", trouble.what()));
  }
}

std::string PriceStore::adopt(const std::string& machine, const std::string& gpu) {
  for (const std::string& other : all_->machines()) {
    if (!other.starts_with(gpu + ", ")) continue;
    for (const std::string& call : all_->calls(other)) all_->set(machine, call, *all_->find(other, call));
    return other;
  }
  return "";
}

void PriceStore::add(const std::string& machine, const std::string& call, cost::RecordedPrice price) {
  all_->set(machine, call, price);
  news_.set(machine, call, std::move(price));
  has_news_ = true;
}

void PriceStore::add(const cost::PriceDatabase& prices) {
  all_->merge(prices);
  news_.merge(prices);
  has_news_ = true;
}

void PriceStore::save() {
  if (!has_news_) return;
  if (file_.empty()) throw EnvironmentError("there is no file for measured prices: name one with --prices");
  const fs::path folder = file_.has_parent_path() ? file_.parent_path() : fs::path(".");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw EnvironmentError(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  const FolderLock lock(folder);
  cost::PriceDatabase kept;
  if (fs::exists(file_)) kept = read(file_);  // another run may have added prices
  kept.merge(news_);
  write_file(file_, kept.text());
  news_ = {};
  has_news_ = false;
}

}  // namespace taso::pricing
