#include "examples/networks/settings.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/console/command_line.h"
#include "cli/console/exit_code.h"
#include "cli/console/option_values.h"
#include "ops/core/error.h"

namespace taso::examples {
namespace {

constexpr std::uint64_t largest_batch = 65536;
constexpr std::uint64_t largest_number = 65536;

/// The options as text: CLI11 only splits the command line.
struct Raw {
  std::string network, output, folder, batch, type, seed, blocks, image_size, sequence, width, opset, log_file, color;
  bool list = false, version = false, static_cache = false, open_past = false;
  int verbose = 0, quiet = 0;
};

void declare(CLI::App& app, Raw& raw) {
  const auto one = [&](const std::string& flag, std::string& value, const std::string& about, const std::string& type,
                       const std::string& group) { app.add_option(flag, value, about)->type_name(type)->group(group); };
  app.add_option("network", raw.network, "The network to write; --list names them")->type_name("NAME");
  one("-o,--output", raw.output, "The file to write", "FILE", "Options");
  one("--all", raw.folder, "Write every network to FOLDER/NAME.onnx", "FOLDER", "Options");
  app.add_flag("--list", raw.list, "Print all networks, or the named one, with their sizes, and exit")
      ->configurable(false);

  const std::string form = "The network";
  one("--batch", raw.batch, "Batch size: a number, or the name of an open dimension (default 1)", "N", form);
  one("--type", raw.type, "Element type (default float32)", "float32|float16|bfloat16|double", form);
  one("--seed", raw.seed, "Seed for the parameters (default 1)", "N", form);
  one("--blocks,--layers", raw.blocks, "Number of repeated blocks (default: as in the paper)", "N", form);
  one("--image-size", raw.image_size, "Height and width of the images (default: as in the paper)", "N", form);
  one("--sequence", raw.sequence, "Number of tokens, or of tokens before the new one (default: by network)", "N", form);
  app.add_flag("--static-cache", raw.static_cache,
               "Decoders: keys and values of --sequence tokens at most, with the new ones written at cache_position")
      ->group(form);
  app.add_flag("--open-past", raw.open_past,
               "Decoders: keys and values of any number of tokens, which the model calls past_sequence_length")
      ->group(form);
  one("--width", raw.width, "Channels of the first level, for diffusion_unet (default 320)", "N", form);
  one("--opset", raw.opset, "Opset of networks as PyTorch exports them: 20 to 23 (default 20)", "N", form);

  const std::string saying = "Output";
  app.add_flag("-v,--verbose", raw.verbose, "Print more; may be repeated")->group(saying);
  app.add_flag("-q,--quiet", raw.quiet, "Print less; may be repeated")->group(saying);
  one("--log-file", raw.log_file, "Append all messages, at every verbosity, to FILE", "FILE", saying);
  one("--color", raw.color, "Colour of messages (default auto)", "auto|always|never", saying);
  app.add_flag("--version", raw.version, "Print versions and exit")->group(saying)->configurable(false);
}

ElementType type_named(const std::string& text) {
  return text == "double" ? ElementType::float64 : element_type_named(text).value();
}

/// A number from 1 on, or an identifier.
std::string batch_given(const std::string& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (is_letter(text.front()) &&
      std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || is_digit(c); }))
    return text;
  if (!is_digit(text.front())) throw cli::UsageError(fmt::format("--batch takes a number or a name, not '{}'", text));
  const std::uint64_t number = cli::whole_number("--batch", text, largest_batch);
  if (number == 0) throw cli::UsageError("--batch takes at least 1");
  return std::to_string(number);
}

std::int64_t number_given(const std::string& flag, const std::string& text) {
  if (text.empty()) return 0;
  const std::uint64_t number = cli::whole_number(flag, text, largest_number);
  if (number == 0) throw cli::UsageError(fmt::format("{} takes at least 1", flag));
  return static_cast<std::int64_t>(number);
}

void resolve_form(const Raw& raw, Settings& settings) {
  if (!raw.batch.empty()) settings.building.batch = batch_given(raw.batch);
  if (!raw.type.empty()) settings.building.type = type_named(raw.type);
  if (!raw.seed.empty())
    settings.building.seed = cli::whole_number("--seed", raw.seed, std::numeric_limits<std::uint64_t>::max());
  settings.variant.blocks = number_given("--blocks", raw.blocks);
  settings.variant.image_size = number_given("--image-size", raw.image_size);
  settings.variant.sequence = number_given("--sequence", raw.sequence);
  settings.variant.width = number_given("--width", raw.width);
  settings.variant.opset = number_given("--opset", raw.opset);
  settings.variant.has_static_cache = raw.static_cache;
  settings.variant.has_open_past = raw.open_past;
  const bool is_numbered = settings.building.batch.find_first_not_of("0123456789") == std::string::npos;
  if (raw.open_past && (raw.static_cache || !raw.sequence.empty() || !is_numbered))
    throw cli::UsageError("--open-past cannot be combined with --static-cache, --sequence or the name of a batch");
}

void resolve_networks(const Raw& raw, Command& command) {
  Settings& settings = command.settings;
  const bool every = !raw.folder.empty() || (raw.list && raw.network.empty());
  if (every)
    for (const Network& network : all_networks()) settings.networks.push_back(&network);
  if (!raw.network.empty()) {
    if (!raw.folder.empty()) throw cli::UsageError("--all writes every network and cannot be combined with a name");
    try {
      settings.networks.push_back(&network_named(raw.network));
    } catch (const InputError& error) {
      throw cli::UsageError(error.what());
    }
  }
  if (raw.list && (!raw.output.empty() || !raw.folder.empty())) throw cli::UsageError("--list writes no file");
  if (raw.list) {
    command.kind = Command::Kind::list;
    return;
  }
  if (settings.networks.empty()) throw cli::UsageError("no network is named; --list shows all");
  if (!raw.folder.empty() && !raw.output.empty()) throw cli::UsageError("-o and --all cannot be combined");
  if (raw.folder.empty() && raw.output.empty())
    throw cli::UsageError("no output is given: -o names the model to write");
  settings.output = raw.output;
  settings.folder = raw.folder;
}

}  // namespace

Command parse_command(int argc, const char* const* argv) {
  Command command;
  Raw raw;
  CLI::App app("Writes common benchmark networks as ONNX models, with seeded parameters.", "taso-networks");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(
      "Examples:\n"
      "  taso-networks --list\n"
      "  taso-networks resnet50 -o resnet50.onnx --batch 16\n"
      "  taso-networks gpt2 -o gpt2.onnx --type float16 --open-past");
  declare(app, raw);
  if (auto help = cli::take_apart(app, argc, argv)) {
    command.kind = Command::Kind::help;
    command.help = std::move(*help);
    return command;
  }
  cli::Console::Options& console = command.settings.console;
  console.program = "taso-networks";
  console.verbosity = raw.verbose - raw.quiet;
  console.color = cli::color_named(raw.color);
  if (!raw.log_file.empty()) console.log_file = raw.log_file;
  if (raw.version) {
    command.kind = Command::Kind::version;
    return command;
  }
  resolve_form(raw, command.settings);
  resolve_networks(raw, command);
  return command;
}

Variant variant_for(const Settings& settings, const Network& network) {
  Variant variant = settings.variant;
  if (settings.networks.size() > 1 && network.image_size == 0) variant.image_size = 0;
  if (settings.networks.size() > 1 && network.sequence == 0) variant.sequence = 0;
  if (settings.networks.size() > 1 && network.width == 0) variant.width = 0;
  if (settings.networks.size() > 1 && network.opset < exported_opset) variant.opset = 0;
  if (settings.networks.size() > 1 && !network.has_past) variant.has_static_cache = variant.has_open_past = false;
  return variant;
}

}  // namespace taso::examples
