#include "tools/command_line.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::tools {
namespace {

// One subcommand with an option of each kind.
class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() {
    Command command = line_.root().AddCommand("cook", "a meal");
    command.AddOption("guest", guest_, "who eats");
    command.AddOption("-p,--port", port_, "where").ShowDefault();
    const CommandOption size = command.AddOption("-s,--size", size_, "how much").Within(1, 10);
    command.AddOption("--count", count_, "how many").Needs(size);
    command.AddOption("--hours", hours_, "how long");
    const CommandOption hot = command.AddFlag("--hot", hot_, "from the oven");
    command.AddOption("--sauce", sauce_, "on top").OneOf({"red", "green"}).Excludes(hot);
    command.AddOption("--wine", wine_, "beside").Check("NAME", [](const std::string& name) {
      return name == "water" ? name + " is no wine" : "";
    });
    command.AddChoices("-c,--course", courses_, {"soup", "fish", "cake"}, "which");
    command.SetExamples("verbena cook --hot");
    command.SetWork([this] { ++meals_; });
  }

  // What is printed for the line, by the program itself.
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

TEST_F(CommandLineTest, ReadsValuesOfAllKindsAndDoesTheWork) {
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
  ASSERT_TRUE(line_.Run("cook --course cake soup"));
  EXPECT_EQ(courses_, (std::vector<size_t>{2, 0}));
}

TEST_F(CommandLineTest, ChoicesThatAreNotMadeStay) {
  courses_ = {1};
  ASSERT_TRUE(line_.Run("cook"));
  EXPECT_EQ(courses_, std::vector<size_t>{1});
}

TEST_F(CommandLineTest, RefusesWhatAnOptionDoesNotAllow) {
  for (const char* const words :
       {"cook --port 65536", "cook --size 0", "cook --size 11", "cook --size 3 --count x",
        "cook --count 3", "cook --sauce blue", "cook --sauce red --hot", "cook --wine water",
        "cook --course tea", "cook --hours soon", "cook --nonsense", "cook ada bob"}) {
    EXPECT_FALSE(line_.Run(words)) << words;
  }
  EXPECT_EQ(meals_, 0);
}

TEST_F(CommandLineTest, TheProgramSaysWhatIsWrong) {
  EXPECT_NE(Says({"cook", "--wine", "water"}, 105).find("water is no wine"), std::string::npos);
  EXPECT_NE(Says({"cook", "--course", "tea"}, 105).find("tea not in {soup,fish,cake}"),
            std::string::npos);
  EXPECT_NE(Says({}, 106).find("subcommand is required"), std::string::npos);
}

TEST_F(CommandLineTest, HelpNamesDefaultsLimitsAndExamples) {
  const std::string help = Says({"cook", "--help"}, 0);
  for (const char* const part : {"a meal", "=80", "in [1 - 10]", "{red,green}", "--wine NAME",
                                 "--course ENUM", "Excludes: --hot", "verbena cook --hot"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << " in\n" << help;
  }
}

TEST(CommandLineRestTest, AllBehindTheFirstWordIsItsOwn) {
  CommandLine line("kitchen", "");
  std::vector<std::string> words;
  bool loud = false;
  Command command = line.root().AddCommand("run", "");
  command.AddFlag("--loud", loud, "");
  command.AddRest("program", words, "");
  EXPECT_FALSE(line.Run("run")) << "it must be there";
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
}  // namespace verbena::tools
