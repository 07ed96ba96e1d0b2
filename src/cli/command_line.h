#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The command line as the subcommands see it. CLI11 does the work, and takes longer to compile than
// all of them: only command_line.cc includes it.

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
class Option;
}  // namespace CLI

namespace verbena::cli {

// An option of a command, to say more about it. A name for it: the command line owns the option,
// and must outlive this.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  // In the help, with the value that it has now.
  CommandOption& ShowDefault();
  // Whole numbers, or for a double any: the others are refused in words.
  CommandOption& Within(uint64_t min, uint64_t max);
  CommandOption& WithinReal(double min, double max);
  CommandOption& OneOf(std::vector<std::string> words);
  // `type` stands for the value in the help; `check` says what is wrong, or nothing.
  CommandOption& Check(const char* type, std::function<std::string(const std::string&)> check);
  CommandOption& Excludes(const CommandOption& other);
  CommandOption& Needs(const CommandOption& other);

 private:
  CLI::Option* option_;
};

// A command: the program itself, or one of its subcommands. A name for it, as above. `names` are
// "-s,--size", or "host" for a word without dashes. What is read goes to `value`, which must live
// as long as the command line.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command AddCommand(const char* name, const char* text);

  // Value: uint16_t, uint32_t, uint64_t, double or std::string.
  template <class Value>
  CommandOption AddOption(const char* names, Value& value, const char* text);
  // Bytes, as people write them: 4096, 4K, 1M.
  CommandOption AddSize(const char* names, uint32_t& value, uint32_t min, uint32_t max,
                        const char* text);
  CommandOption AddFlag(const char* names, bool& value, const char* text);
  // One or more of `words`; `chosen` are their indices.
  CommandOption AddChoices(const char* names, std::vector<size_t>& chosen,
                           const std::vector<std::string>& words, const char* text);
  // A word that must be there, and all behind it, even what looks like an option.
  CommandOption AddRest(const char* name, std::vector<std::string>& words, const char* text);

  // Below the options in the help.
  void SetExamples(const char* text);
  // What is done when the command was called and its options are read.
  void SetWork(std::function<void()> work);
  // For a command without options, not even --help: all words behind its name are handed on.
  void SetWorkWithRest(std::function<void(std::vector<std::string>)> work);

 private:
  CLI::App* app_;
};

// Owns the program's command and all below it. Thread rule: one thread.
class CommandLine {
 public:
  CommandLine(const char* program, const char* text);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  [[nodiscard]] Command root();

  // Has --version print this.
  void SetVersion(const char* text);

  // Reads the options and does the work of the subcommand, of which there must be one. If there is
  // nothing more to do, the exit code: 0 if help was asked for, kMisuse if the line was wrong, and
  // then standard error says why.
  [[nodiscard]] std::optional<int> Run(int argc, const char* const* argv);
  // The same with a line of words, none of them the program's name, and a subcommand only if there
  // is one in it. Whether it was right; says nothing.
  [[nodiscard]] bool Run(const std::string& line);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace verbena::cli
