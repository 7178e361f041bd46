#include "cli/console/ending.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/characters.h"

namespace taso::cli {

Trouble trouble_of(std::exception_ptr exception) {
  const auto trouble = [](Ending ending, std::string_view text) { return Trouble{ending, on_one_line(text)}; };
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const UsageError& error) {
    return trouble(Ending::usage, error.what());
  } catch (const PlacedError& error) {
    return {Ending::input, on_lines(error.what())};
  } catch (const InputError& error) {
    return trouble(Ending::input, error.what());
  } catch (const EnvironmentError& error) {
    return trouble(Ending::environment, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return trouble(Ending::environment, error.what());
  } catch (const std::system_error& error) {  // a thread that the machine does not give
    return trouble(Ending::environment, error.what());
  } catch (const std::bad_alloc&) {
    return trouble(Ending::environment, "out of memory");
  } catch (const std::exception& error) {
    return trouble(Ending::bug, fmt::format("this is a bug in taso: {}", error.what()));
  } catch (...) {
    return trouble(Ending::bug, "this is a bug in taso: an exception of unknown type");
  }
}

std::string on_one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (text.front() == '\n' || text.front() == '\t')
      line += ' ';
    else if (size == 0 || text.front() == '\x7f')
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else
      line += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return line;
}

std::string on_lines(std::string_view text) {
  std::string lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) lines += '\n';
    lines += on_one_line(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace taso::cli
