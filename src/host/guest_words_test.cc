#include "host/guest_words.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

class GuestWordsTest : public testing::Test {
 protected:
  // As SCM_RIGHTS delivers it.
  [[nodiscard]] FileDescriptor File() const { return FileDescriptor(dup(page_.fd())); }
  [[nodiscard]] memory::CurrentIo Io(uint32_t place) const {
    return memory::CurrentIo(page_.word(place));
  }

  memory::CurrentIoPage page_ = std::move(*memory::CurrentIoPage::Create());
  GuestWords words_;
};

TEST_F(GuestWordsTest, CountWhatTheGuestCounts) {
  ASSERT_TRUE(words_.Open(File()));
  ASSERT_TRUE(words_.Add(RegionNumber(7), 1));
  ASSERT_TRUE(words_.Add(RegionNumber(8), memory::CurrentIoPage::kWords));
  EXPECT_EQ(words_.operations(), 0U);
  ASSERT_EQ(Io(0).Begin(3), memory::CurrentIo::BeginResult::kStarted);
  ASSERT_EQ(Io(memory::CurrentIoPage::kWords - 1).Begin(2),
            memory::CurrentIo::BeginResult::kStarted);
  EXPECT_EQ(words_.operations(), 5U);
  words_.ForEach([](RegionNumber region, uint32_t count) {
    EXPECT_EQ(count, region == RegionNumber(7) ? 3U : 2U);
  });
  words_.Remove(RegionNumber(8));
  EXPECT_EQ(words_.operations(), 3U);
}

TEST_F(GuestWordsTest, TheQuiesceBitIsNoOperation) {
  ASSERT_TRUE(words_.Open(File()));
  ASSERT_TRUE(words_.Add(RegionNumber(7), 1));
  ASSERT_EQ(Io(0).Quiesce(), memory::CurrentIo::QuiesceResult::kIdle);
  EXPECT_EQ(words_.operations(), 0U);
}

TEST_F(GuestWordsTest, AWordThatIsNotThereIsRefused) {
  EXPECT_FALSE(words_.Add(RegionNumber(7), 1)) << "there is no page yet";
  ASSERT_TRUE(words_.Open(File()));
  EXPECT_FALSE(words_.Add(RegionNumber(7), 0));
  EXPECT_FALSE(words_.Add(RegionNumber(7), memory::CurrentIoPage::kWords + 1));
}

// Reading a file that its maker shortens would be SIGBUS.
TEST_F(GuestWordsTest, AFileThatCanBeShortenedIsRefused) {
  FileDescriptor file(memfd_create("words", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), memory::CurrentIoPage::kBytes), 0);
  EXPECT_FALSE(words_.Open(std::move(file)));
  EXPECT_FALSE(words_.Open(FileDescriptor()));
  ASSERT_TRUE(words_.Open(File()));
  EXPECT_FALSE(words_.Open(File())) << "one is enough";
}

}  // namespace
}  // namespace verbena::host
