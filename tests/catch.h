// Catch2 under one set of names: version 2 is one header, version 3 a folder of them, and some names moved.
// Write Approx, Catch::Contains, Catch::StartsWith, Catch::EndsWith, Catch::Equals and Catch::Matches (of a regular
// expression); for what should be skipped, WARN and return (2 has no SKIP).
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#include <string>
using Catch::Approx;
namespace Catch {
using Matchers::EndsWith;
using Matchers::Equals;
using Matchers::Matches;
using Matchers::StartsWith;
inline auto Contains(const std::string& text) { return Matchers::ContainsSubstring(text); }
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#include <string>
namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& text) { return Contains(text); }
}  // namespace Catch::Matchers
#endif
