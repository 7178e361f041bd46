// The prices that a program works with: those that come with taso, and those that were measured here.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cost/pricing/price_database.h"

namespace taso::pricing {

/// For who only reads prices, so that a name that was mistyped is not taken for an empty file. Throws InputError.
void require_prices(const std::filesystem::path& file);

class PriceStore {
 public:
  /// `file`: where measured prices are kept, instead of in the user's own file; it may not exist yet. Throws InputError for
  /// what is no file of prices. `with_shipped`: also those that come with taso. `with_own`: also those of the user's own file.
  explicit PriceStore(std::optional<std::filesystem::path> file, bool with_shipped = true, bool with_own = true);

  /// Everything that is known.
  const cost::PriceDatabase& all() const { return *all_; }
  std::shared_ptr<const cost::PriceDatabase> shared() const { return all_; }
  /// The machine whose prices count where there is no GPU: the first that came with taso. Empty if none did.
  const std::string& shipped_machine() const { return shipped_machine_; }

  /// Known from now on, and kept by save().
  void add(const std::string& machine, const std::string& call, cost::RecordedPrice price);
  void add(const cost::PriceDatabase& prices);
  bool has_news() const { return has_news_; }
  /// Adds what is new to what the file has by now. Throws EnvironmentError.
  void save();
  /// Where they are kept; empty where the user has no home.
  const std::filesystem::path& file() const { return file_; }

 private:
  std::shared_ptr<cost::PriceDatabase> all_ = std::make_shared<cost::PriceDatabase>();
  cost::PriceDatabase news_;
  std::filesystem::path file_;
  std::string shipped_machine_;
  bool has_news_ = false;
};

}  // namespace taso::pricing
