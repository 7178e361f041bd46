#include "cli/console/exit_code.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/characters.h"

namespace taso::cli {

Failure failure_of(std::exception_ptr exception) {
  const auto trouble = [](ExitCode ending, std::string_view text) { return Failure{ending, on_one_line(text)}; };
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const UsageError& error) {
    return trouble(ExitCode::usage, error.what());
  } catch (const PlacedError& error) {
    return {ExitCode::input, on_lines(error.what())};
  } catch (const InputError& error) {
    return trouble(ExitCode::input, error.what());
  } catch (const EnvironmentError& error) {
    return trouble(ExitCode::environment, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return trouble(ExitCode::environment, error.what());
  } catch (const std::system_error& error) {  // for example, the system refuses a thread
    return trouble(ExitCode::environment, error.what());
  } catch (const std::bad_alloc&) {
    return trouble(ExitCode::environment, "out of memory");
  } catch (const std::exception& error) {
    return trouble(ExitCode::bug, fmt::format("this is a bug in taso: {}", error.what()));
  } catch (...) {
    return trouble(ExitCode::bug, "this is a bug in taso: an exception of unknown type");
  }
}

}  // namespace taso::cli
