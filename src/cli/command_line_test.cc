#include "cli/command_line.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cli/outcome.h"

namespace verbena::cli {
namespace {

// One subcommand with an option of each kind.
class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() {
    Command command = line_.root().AddCommand("cook", "a meal");
    command.AddOption("guest", guest_, "who eats");
    command.AddOption("-p,--port", port_, "where").ShowDefault();
    const CommandOption size = command.AddSize("-s,--size", size_, 1, 1U << 20, "how much");
    command.AddOption("--count", count_, "how many").Within(1, 5'000'000'000).Needs(size);
    command.AddOption("--hours", hours_, "how long").WithinReal(0.5, 24);
    const CommandOption hot = command.AddFlag("--hot", hot_, "from the oven");
    command.AddOption("--sauce", sauce_, "on top").OneOf({"red", "green"}).Excludes(hot);
    command.AddOption("--wine", wine_, "beside").Check("NAME", [](const std::string& name) {
      return name == "water" ? name + " is no wine" : "";
    });
    command.AddChoices("-c,--course", courses_, {"soup", "fish", "cake"}, "which");
    command.SetExamples("verbena cook --hot");
    command.SetWork([this] { ++meals_; });
  }

  // The output of the program for this line.
  std::string Says(std::vector<const char*> words, int expected_exit_code) {
    words.insert(words.begin(), "program");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto exit_code = line_.Run(static_cast<int>(words.size()), words.data());
    EXPECT_EQ(exit_code, expected_exit_code);
    return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  }

  CommandLine line_{"kitchen", "Food."};
  std::string guest_;
  uint16_t port_ = 80;
  uint32_t size_ = 0;
  uint64_t count_ = 0;
  double hours_ = 0;
  bool hot_ = false;
  std::string sauce_;
  std::string wine_;
  std::vector<size_t> courses_;
  int meals_ = 0;
};

TEST_F(CommandLineTest, ReadsValuesOfAllKindsAndRunsTheCommand) {
  ASSERT_TRUE(
      line_.Run("cook ada -p 7 --size=3 --count 5000000000 --hours 0.5 --hot --wine white"));
  EXPECT_EQ(guest_, "ada");
  EXPECT_EQ(port_, 7);
  EXPECT_EQ(size_, 3U);
  EXPECT_EQ(count_, 5'000'000'000U);
  EXPECT_EQ(hours_, 0.5);
  EXPECT_TRUE(hot_);
  EXPECT_EQ(wine_, "white");
  EXPECT_EQ(meals_, 1);
}

TEST_F(CommandLineTest, ChoicesAreIndicesInTheOrderOfTheLine) {
  courses_ = {1};
  for (const char* const words :
       {"cook --course cake soup", "cook -c cake,soup", "cook --course=cake --course soup"}) {
    ASSERT_TRUE(line_.Run(words)) << words;
    EXPECT_EQ(courses_, (std::vector<size_t>{2, 0})) << words;
  }
}

TEST_F(CommandLineTest, WithoutAChoiceTheDefaultsStay) {
  courses_ = {1};
  ASSERT_TRUE(line_.Run("cook"));
  EXPECT_EQ(courses_, std::vector<size_t>{1});
}

TEST_F(CommandLineTest, RefusesInvalidValuesAndUnknownOptions) {
  for (const char* const words : {"cook --port 65536",
                                  "cook --size 0",
                                  "cook --size 3 --count x",
                                  "cook --size -1",
                                  "cook --size 2M",
                                  "cook --size 1.5",
                                  "cook --size 3 --count 0",
                                  "cook --size 3 --count -1",
                                  "cook --size 3 --count 5000000001",
                                  "cook --hours nan",
                                  "cook --hours 0.4",
                                  "cook --hours -1",
                                  "cook --hours 25",
                                  "cook --count 3",
                                  "cook --sauce blue",
                                  "cook --sauce red --hot",
                                  "cook --wine water",
                                  "cook --course tea",
                                  "cook --hours soon",
                                  "cook --nonsense",
                                  "cook --hot=3",
                                  "cook --course cake,tea",
                                  "cook ada bob"}) {
    EXPECT_FALSE(line_.Run(words)) << words;
  }
  EXPECT_EQ(meals_, 0);
}

TEST_F(CommandLineTest, ErrorsNameTheOptionAndTheAllowedValues) {
  using Words = std::vector<const char*>;
  for (const auto& [words, text] : std::vector<std::pair<Words, std::string>>{
           {{"cook", "--wine", "water"}, "kitchen cook: --wine: water is no wine"},
           {{"cook", "--course", "tea"}, "--course: 'tea' is not one of soup, fish, cake"},
           {{"cook", "--size", "x"}, "--size: 'x' is not a size: write 64, 4K or 1M, for example"},
           {{"cook", "--size", "2M"}, "--size: 2M is out of range: it must be 1 byte to 1 MiB"},
           {{"cook", "-s", "3", "--count", "0"}, "0 is out of range: it must be 1 to 5000000000"},
           {{"cook", "-s", "3", "--count", "-7"}, "-7 is out of range: it must be 1 to 5000000000"},
           {{"cook", "-s", "3", "--count", "x"}, "'x' is not a whole number; it must be 1 to"},
           {{"cook", "--hours", "-1"}, "-1 is out of range: it must be 0.5 to 24"},
           {{"cook", "--hours", "soon"}, "'soon' is not a number; it must be 0.5 to 24"},
           {{"cook", "--nonsense"},
            "kitchen cook: unknown option '--nonsense'\nRun kitchen cook --"},
           {{"cook", "--hott"}, "unknown option '--hott'; is it --hot?\n"},
           {{"cook", "--win", "red"}, "unknown option '--win'; is it --wine?\n"},
           {{"cook", "--souce=red"}, "unknown option '--souce'; is it --sauce?\n"},
           {{"cook", "ada", "bob"}, "kitchen cook: unexpected argument 'bob'\n"},
           {{"cook", "--hot=3"}, "kitchen cook: --hot takes no value\n"},
           {{"bake"}, "kitchen: 'bake' is not a command; the commands are cook"},
           {{"--nonsense"}, "Run kitchen --help for more."},
           {{}, "kitchen: no command given; the commands are cook"}}) {
    const std::string said = Says(words, kMisuse);
    EXPECT_NE(said.find(text), std::string::npos) << text << " in\n" << said;
  }
}

TEST_F(CommandLineTest, SizesHaveUnits) {
  ASSERT_TRUE(line_.Run("cook --size 4K"));
  EXPECT_EQ(size_, 4'096U);
}

TEST_F(CommandLineTest, PrintsItsVersion) {
  line_.SetVersion("kitchen 7.1");
  EXPECT_EQ(Says({"--version"}, 0), "kitchen 7.1\n");
}

TEST_F(CommandLineTest, HelpNamesDefaultsLimitsAndExamples) {
  const std::string help = Says({"cook", "--help"}, 0);
  for (const char* const part :
       {"a meal", "=80", "SIZE in [1 byte to 1 MiB]", "N in [1 to 5000000000]", "X in [0.5 to 24]",
        "--sauce red|green", "--wine NAME", "--course soup|fish|cake ...", "Excludes: --hot",
        "verbena cook --hot"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << " in\n" << help;
  }
}

TEST(CommandLineRestTest, WordsAfterTheProgramBelongToTheProgram) {
  CommandLine line("kitchen", "");
  std::vector<std::string> words;
  bool loud = false;
  Command command = line.root().AddCommand("run", "");
  command.AddFlag("--loud", loud, "");
  command.AddRest("program", words, "");
  EXPECT_FALSE(line.Run("run")) << "the program is required";
  ASSERT_TRUE(line.Run("run --loud -- ls --loud -l"));
  EXPECT_EQ(words, (std::vector<std::string>{"ls", "--loud", "-l"}));
}

TEST(CommandLineRestTest, ACommandWithoutOptionsGetsEvenHelp) {
  CommandLine line("kitchen", "");
  std::vector<std::string> words;
  line.root().AddCommand("sim", "").SetWorkWithRest([&](auto rest) { words = std::move(rest); });
  ASSERT_TRUE(line.Run("sim --help x --seed 1"));
  EXPECT_EQ(words, (std::vector<std::string>{"--help", "x", "--seed", "1"}));
}

}  // namespace
}  // namespace verbena::cli
