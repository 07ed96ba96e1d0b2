#include "tools/command_line.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

namespace verbena::tools {

CommandOption& CommandOption::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

CommandOption& CommandOption::Within(uint32_t min, uint32_t max) {
  option_->check(CLI::Range(min, max));
  return *this;
}

CommandOption& CommandOption::OneOf(std::vector<std::string> words) {
  option_->check(CLI::IsMember(std::move(words)));
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

CommandOption Command::AddFlag(const char* names, bool& value, const char* text) {
  return CommandOption(app_->add_flag(names, value, text));
}

CommandOption Command::AddChoices(const char* names, std::vector<size_t>& chosen,
                                  const std::vector<std::string>& words, const char* text) {
  const auto choose = [&chosen, words](const std::vector<std::string>& said) {
    chosen.clear();
    for (const std::string& word : said) {
      chosen.push_back(static_cast<size_t>(std::ranges::find(words, word) - words.begin()));
    }
  };
  // The words are in the text already.
  return CommandOption(app_->add_option_function<std::vector<std::string>>(names, choose, text)
                           ->type_name("ENUM")
                           ->check(CLI::IsMember(words).description("")));
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

// CLI11 tells by exceptions. They end here.
std::optional<int> CommandLine::Run(int argc, const char* const* argv) {
  app_->require_subcommand(1);
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
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

}  // namespace verbena::tools
