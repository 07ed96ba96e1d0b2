#include "cli/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/byte_count.h"
#include "cli/outcome.h"
#include "cli/text.h"

namespace verbena::cli {
namespace {

// nullopt unless the whole text is a number.
template <class Number>
std::optional<Number> ParseAll(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

std::string OutOfRange(const std::string& text, const std::string& range) {
  return text + " is out of range: it must be " + range;
}

// An error text if the first word is neither a command nor an option of the program itself, else
// empty. CLI11 would say that a command is missing.
std::string WrongFirstWord(CLI::App& app, const char* word) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (word != nullptr && command->get_name() == word) return "";
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  if (word == nullptr) return "no command given; the commands are " + names;
  if (word[0] != '-') return Text("'%s' is not a command; the commands are ", word) + names;
  return app.get_option_no_throw(word) != nullptr ? "" : Text("unknown option '%s'", word);
}

// "roce, ib" for the separator ", ".
std::string Join(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

// `type` stands for the value in the help.
CLI::Validator MemberOf(const std::vector<std::string>& words, const std::string& type) {
  const auto check = [words](const std::string& word) -> std::string {
    if (std::ranges::find(words, word) != words.end()) return "";
    return "'" + word + "' is not one of " + Join(words, ", ");
  };
  return CLI::Validator(check, type);
}

// The command or subcommand that the line names: "verbena broker quiesce".
std::pair<const CLI::App*, std::string> CommandOf(const CLI::App& root) {
  const CLI::App* app = &root;
  std::string called = root.get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().back();
    called += " " + app->get_name();
  }
  return {app, called};
}

// Whether the words differ by one character that is missing, added, or another.
bool IsSimilar(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  const auto differs = std::ranges::mismatch(a, b);
  const std::string_view rest_a(differs.in1, a.end());
  const std::string_view rest_b(differs.in2, b.end());
  if (rest_b.empty()) return true;
  return rest_a == rest_b.substr(1) || (!rest_a.empty() && rest_a.substr(1) == rest_b.substr(1));
}

// For the first word that the command does not take.
std::string WrongWord(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) return "unexpected argument '" + word + "'";
  const std::string unknown = word.substr(0, word.find('='));
  std::string error = "unknown option '" + unknown + "'";
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (IsSimilar(unknown, "--" + name)) return error + "; is it --" + name + "?";
    }
  }
  return error;
}

// The error of CLI11, in the words of this program where they differ.
std::string TextOf(const CLI::ParseError& error) {
  constexpr std::string_view kFlagWithValue = " was given a disallowed flag override";
  std::string text = error.what();
  if (!text.ends_with(kFlagWithValue)) return text;
  return "--" + text.substr(0, text.size() - kFlagWithValue.size()) + " takes no value";
}

// Prints the error and returns the exit code.
int Refuse(const std::string& called, const std::string& why) {
  std::fprintf(stderr, "%s: %s\nRun %s --help for more.\n", called.c_str(), why.c_str(),
               called.c_str());
  return kMisuse;
}

}  // namespace

CommandOption& CommandOption::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

CommandOption& CommandOption::Within(uint64_t min, uint64_t max) {
  const std::string range = std::to_string(min) + " to " + std::to_string(max);
  return Check(("N in [" + range + "]").c_str(), [=](const std::string& text) -> std::string {
    const bool is_negative = text.starts_with('-');
    const auto number = ParseAll<uint64_t>(std::string_view(text).substr(is_negative ? 1 : 0));
    if (!number) return "'" + text + "' is not a whole number; it must be " + range;
    return is_negative || *number < min || *number > max ? OutOfRange(text, range) : "";
  });
}

CommandOption& CommandOption::WithinReal(double min, double max) {
  const std::string range = Text("%.10g to %.10g", min, max);
  return Check(("X in [" + range + "]").c_str(), [=](const std::string& text) -> std::string {
    const auto number = ParseAll<double>(text);
    if (!number) return "'" + text + "' is not a number; it must be " + range;
    return *number >= min && *number <= max ? "" : OutOfRange(text, range);
  });
}

CommandOption& CommandOption::OneOf(const std::vector<std::string>& words) {
  // The words stand for the value in the help, so the check needs no description.
  option_->type_name(Join(words, "|"))->check(MemberOf(words, ""));
  return *this;
}

CommandOption& CommandOption::Type(const char* type) {
  option_->type_name(type);
  return *this;
}

CommandOption& CommandOption::Check(const char* type,
                                    std::function<std::string(const std::string&)> check) {
  option_->type_name(type)->check(std::move(check));
  return *this;
}

CommandOption& CommandOption::Excludes(const CommandOption& other) {
  option_->excludes(other.option_);
  return *this;
}

CommandOption& CommandOption::Require() {
  option_->required();
  return *this;
}

CommandOption& CommandOption::Needs(const CommandOption& other) {
  option_->needs(other.option_);
  return *this;
}

Command Command::AddCommand(const char* name, const char* text) {
  return Command(app_->add_subcommand(name, text));
}

template <class Value>
CommandOption Command::AddOption(const char* names, Value& value, const char* text) {
  return CommandOption(app_->add_option(names, value, text));
}
template CommandOption Command::AddOption(const char*, uint16_t&, const char*);
template CommandOption Command::AddOption(const char*, uint32_t&, const char*);
template CommandOption Command::AddOption(const char*, uint64_t&, const char*);
template CommandOption Command::AddOption(const char*, double&, const char*);
template CommandOption Command::AddOption(const char*, std::string&, const char*);

CommandOption Command::AddSize(const char* names, uint32_t& value, uint32_t min, uint32_t max,
                               const char* text) {
  const auto take = [&value](const std::string& size) {
    value = static_cast<uint32_t>(ParseByteCount(size).value());
  };
  const std::string range = BytesText(min) + " to " + BytesText(max);
  const auto check = [=](const std::string& size) -> std::string {
    const auto bytes = ParseByteCount(size);
    if (!bytes) return "'" + size + "' is not a size: write 64, 4K or 1M, for example";
    return *bytes < min || *bytes > max ? OutOfRange(size, range) : "";
  };
  return CommandOption(app_->add_option_function<std::string>(names, take, text)
                           ->default_str(value == 0 ? "" : std::to_string(value)))
      .Check(("SIZE in [" + range + "]").c_str(), check);
}

CommandOption Command::AddFlag(const char* names, bool& value, const char* text) {
  return CommandOption(app_->add_flag(names, value, text)->disable_flag_override());
}

CommandOption Command::AddChoices(const char* names, std::vector<size_t>& chosen,
                                  const std::vector<std::string>& words, const char* text) {
  const auto choose = [&chosen, words](const std::vector<std::string>& said) {
    chosen.clear();
    for (const std::string& word : said) {
      chosen.push_back(static_cast<size_t>(std::ranges::find(words, word) - words.begin()));
    }
  };
  return CommandOption(app_->add_option_function<std::vector<std::string>>(names, choose, text)
                           ->delimiter(','))
      .OneOf(words);
}

CommandOption Command::AddList(const char* names, std::vector<std::string>& values,
                               const char* text) {
  return CommandOption(app_->add_option(names, values, text)->allow_extra_args(false));
}

CommandOption Command::AddRest(const char* name, std::vector<std::string>& words,
                               const char* text) {
  app_->positionals_at_end();
  return CommandOption(app_->add_option(name, words, text)->required());
}

void Command::SetExamples(const char* text) { app_->footer(text); }

void Command::SetWork(std::function<void()> work) { app_->callback(std::move(work)); }

void Command::SetWorkWithRest(std::function<void(std::vector<std::string>)> work) {
  app_->prefix_command();
  app_->set_help_flag();
  app_->callback([app = app_, work = std::move(work)] { work(app->remaining()); });
}

CommandLine::CommandLine(const char* program, const char* text)
    : app_(std::make_unique<CLI::App>(text, program)) {}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return Command(app_.get()); }

void CommandLine::SetVersion(const char* text) { app_->set_version_flag("--version", text); }

// CLI11 reports by exceptions. This function catches all of them.
std::optional<int> CommandLine::Run(int argc, const char* const* argv) {
  const std::string program = app_->get_name();
  const char* const word = argc > 1 ? argv[1] : nullptr;
  if (const std::string wrong = WrongFirstWord(*app_, word); !wrong.empty()) {
    return Refuse(program, wrong);
  }
  app_->require_subcommand(1);
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& asked) {
    return app_->exit(asked);
  } catch (const CLI::ExtrasError&) {
    const auto [command, called] = CommandOf(*app_);
    return Refuse(called, WrongWord(*command, app_->remaining(true).front()));
  } catch (const CLI::ParseError& error) {
    return Refuse(CommandOf(*app_).second, TextOf(error));
  }
}

bool CommandLine::Run(const std::string& line) {
  try {
    app_->parse(line);
    return true;
  } catch (const CLI::ParseError&) {
    return false;
  }
}

}  // namespace verbena::cli
