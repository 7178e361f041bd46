// The prices that a program uses: the shipped ones and those measured here.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cost/pricing/price_database.h"

namespace taso::pricing {

/// For programs that only read prices: a mistyped name must not count as an empty file. Throws InputError.
void require_prices(const std::filesystem::path& file);

class PriceStore {
 public:
  /// The folders of shipped prices: of our own plans, and of ONNX Runtime.
  static constexpr std::string_view of_plans = "prices", of_onnxruntime = "prices/onnxruntime", none = "";
  /// `file` keeps measured prices instead of the user's own file; it need not exist yet. `shipped` is a folder of
  /// shipped prices to include; `with_own` includes those of the user's own file. Throws InputError for a file that
  /// does not hold prices.
  explicit PriceStore(std::optional<std::filesystem::path> file, std::string_view shipped = of_plans,
                      bool with_own = true);

  /// All known prices.
  const cost::PriceDatabase& all() const { return *all_; }
  std::shared_ptr<const cost::PriceDatabase> shared() const { return all_; }
  /// The machine whose prices count without a GPU: the first shipped one. Empty if none is shipped.
  const std::string& shipped_machine() const { return shipped_machine_; }

  /// Adds prices, which save() keeps.
  void add(const std::string& machine, const std::string& call, cost::RecordedPrice price);
  void add(const cost::PriceDatabase& prices);
  /// Adds prices that are not kept.
  void use(const cost::PriceDatabase& prices) { all_->merge(prices); }
  /// Uses the prices of another machine with this GPU for `machine`, without keeping them. Returns that machine; empty
  /// if there is none.
  std::string adopt(const std::string& machine, const std::string& gpu);
  bool has_news() const { return has_news_; }
  /// Merges the new prices into the file as it is now. Throws EnvironmentError.
  void save();
  /// Where prices are kept; empty if the user has no home.
  const std::filesystem::path& file() const { return file_; }

 private:
  std::shared_ptr<cost::PriceDatabase> all_ = std::make_shared<cost::PriceDatabase>();
  cost::PriceDatabase news_;
  std::filesystem::path file_;
  std::string shipped_machine_;
  bool has_news_ = false;
};

}  // namespace taso::pricing
