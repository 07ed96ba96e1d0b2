#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The command line as the subcommands see it. CLI11 parses it. Including CLI11 takes longer to
// compile than all subcommands, so only command_line.cc does.

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
class Option;
}  // namespace CLI

namespace verbena::cli {

// Refers to an option of a command, to configure it. The command line owns the option and must
// outlive this object.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  // The help shows the value that the option has at this call.
  CommandOption& ShowDefault();
  // Within takes whole numbers, WithinReal any number. A value out of range is refused with a
  // message.
  CommandOption& Within(uint64_t min, uint64_t max);
  CommandOption& WithinReal(double min, double max);
  CommandOption& OneOf(const std::vector<std::string>& words);
  // `type` stands for the value in the help.
  CommandOption& Type(const char* type);
  // The same, with a check that returns an error text, or empty.
  CommandOption& Check(const char* type, std::function<std::string(const std::string&)> check);
  CommandOption& Require();
  CommandOption& Excludes(const CommandOption& other);
  CommandOption& Needs(const CommandOption& other);

 private:
  CLI::Option* option_;
};

// Refers to a command: the program itself, or one of its subcommands. The command line owns it, as
// above. `names` is "-s,--size", or "host" for a word without dashes. The parsed value goes to
// `value`, which must live as long as the command line.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command AddCommand(const char* name, const char* text);

  // Value: uint16_t, uint32_t, uint64_t, double or std::string.
  template <class Value>
  CommandOption AddOption(const char* names, Value& value, const char* text);
  // A number of bytes with units: 4096, 4K, 1M.
  CommandOption AddSize(const char* names, uint32_t& value, uint32_t min, uint32_t max,
                        const char* text);
  CommandOption AddFlag(const char* names, bool& value, const char* text);
  // One or more of `words`, with commas or spaces between them; `chosen` are their indices.
  CommandOption AddChoices(const char* names, std::vector<size_t>& chosen,
                           const std::vector<std::string>& words, const char* text);
  // Can be given several times.
  CommandOption AddList(const char* names, std::vector<std::string>& values, const char* text);
  // A required word, and all words after it, even those that look like options.
  CommandOption AddRest(const char* name, std::vector<std::string>& words, const char* text);

  // Text below the options in the help.
  void SetExamples(const char* text);
  // `work` runs after the options of the command are parsed.
  void SetWork(std::function<void()> work);
  // For a command without options, not even --help: `work` gets all words after its name.
  void SetWorkWithRest(std::function<void(std::vector<std::string>)> work);

 private:
  CLI::App* app_;
};

// Owns the program's command and its subcommands. One thread.
class CommandLine {
 public:
  CommandLine(const char* program, const char* text);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  [[nodiscard]] Command root();

  // Makes --version print `text`.
  void SetVersion(const char* text);

  // Parses the options and runs the subcommand, which is required. nullopt if the subcommand ran;
  // otherwise the exit code: 0 if help was asked for, kMisuse if the line was wrong, and then
  // standard error says why.
  [[nodiscard]] std::optional<int> Run(int argc, const char* const* argv);
  // As above, for a line of words without the program's name, in which the subcommand is optional.
  // False if the line is wrong; prints nothing.
  [[nodiscard]] bool Run(const std::string& line);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace verbena::cli
