#include "adapter/loop/trace.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"
#include "wire/roce/icrc.h"
#include "wire/roce/packet.h"

namespace verbena::adapter {
namespace {

using Bytes = std::vector<std::byte>;

// A captured packet: the IP and UDP headers, and the rest.
struct Captured {
  uint64_t time_ns = 0;
  Bytes headers;
  Bytes packet;
};

struct Capture {
  size_t sections = 0;
  std::vector<Captured> packets;
};

uint32_t WordAt(const Bytes& bytes, size_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, &bytes.at(offset), sizeof word);
  return word;
}

// Fails the test if the file is not a sequence of whole blocks.
Capture Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  Bytes bytes(chars.size());
  std::memcpy(bytes.data(), chars.data(), chars.size());
  Capture capture;
  for (size_t at = 0; at < bytes.size();) {
    const uint32_t type = WordAt(bytes, at);
    const uint32_t size = WordAt(bytes, at + 4);
    EXPECT_LE(at + size, bytes.size());
    if (size < 12 || at + size > bytes.size()) return capture;
    EXPECT_EQ(WordAt(bytes, at + size - 4), size);
    if (type == 0x0A0D0D0A) ++capture.sections;
    if (type == 6) {
      constexpr size_t kEthernet = 14;
      const auto* const frame = &bytes[at + 28 + kEthernet];
      const size_t length = WordAt(bytes, at + 20) - kEthernet;
      const size_t headers = ((*frame >> 4) == std::byte{4} ? 20 : 40) + 8;
      capture.packets.push_back(
          {.time_ns = uint64_t{WordAt(bytes, at + 12)} << 32 | WordAt(bytes, at + 16),
           .headers = Bytes(frame, frame + headers),
           .packet = Bytes(frame + headers, frame + length)});
    }
    at += size;
  }
  return capture;
}

// With the headers as they are in the file.
bool IcrcIsRight(const Captured& captured) {
  const auto packet = wire::Packet::Parse(captured.packet);
  if (!packet) return false;
  return wire::IcrcOf(captured.headers, packet->covered()) == packet->icrc();
}

class TraceTest : public testing::TestWithParam<const char*> {
 protected:
  ~TraceTest() override {
    unlink(PathOf("a").c_str());
    unlink(PathOf("b").c_str());
  }
  static std::string PathOf(const char* name) {
    return testing::TempDir() + "/trace_test." + std::to_string(getpid()) + "." + name;
  }
  static AdapterOptions Traced(const char* name) {
    AdapterOptions options = TestOptions();
    options.trace = PathOf(name);
    return options;
  }
  static void WriteAcross(TestNode& a, QueuePair& qa, TestNode& b, uint64_t length) {
    a.Fill(0, length, 1);
    Post(a, qa, MakeSend(queue::SendOpcode::kWrite, 1, b.Remote(uint64_t{1} << 19)),
         a.Bytes(0, length));
    const auto completion = a.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
  }
  static void ExpectAllRight(const Capture& capture) {
    for (const Captured& captured : capture.packets) {
      EXPECT_TRUE(IcrcIsRight(captured)) << "of " << captured.packet.size() << " bytes";
    }
  }
};

TEST_P(TraceTest, BothEndsRecordTheSamePackets) {
  {
    TestNode a(GetParam(), uint64_t{1} << 20, Traced("a"));
    TestNode b(GetParam(), uint64_t{1} << 20, Traced("b"));
    QueuePair& qa = a.MakeQp(QpType::kRc);
    QueuePair& qb = b.MakeQp(QpType::kRc);
    Connect(a, qa, b, qb);
    WriteAcross(a, qa, b, 50'000);
  }
  const Capture at_a = Read(PathOf("a"));
  const Capture at_b = Read(PathOf("b"));
  EXPECT_GE(at_a.packets.size(), 14U);  // 13 of the write, and an acknowledgement
  ExpectAllRight(at_a);
  ExpectAllRight(at_b);
  // Every packet that one end sent arrived at the other, with the same headers.
  const auto seen = [&](const Captured& wanted) {
    for (const Captured& other : at_b.packets) {
      if (other.packet == wanted.packet && other.headers == wanted.headers) return true;
    }
    return false;
  };
  size_t common = 0;
  for (const Captured& captured : at_a.packets) common += seen(captured) ? 1 : 0;
  EXPECT_GE(common, 14U);
}

TEST_P(TraceTest, RecordsLoopbackPacketsOnceWithTheirIcrc) {
  {
    TestNode a(GetParam(), uint64_t{1} << 20, Traced("a"));
    QueuePair& from = a.MakeQp(QpType::kRc);
    QueuePair& to = a.MakeQp(QpType::kRc);
    Connect(a, from, a, to);
    // So that no page is absent, and no packet is retransmitted.
    a.Fill(uint64_t{1} << 19, 10'000, 9);
    WriteAcross(a, from, a, 10'000);
    const auto report = a.adapter().Query();
    EXPECT_EQ(Read(PathOf("a")).packets.size(), report->port.loopback_packets);
  }
  const Capture capture = Read(PathOf("a"));
  EXPECT_GE(capture.packets.size(), 4U);
  ExpectAllRight(capture);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TraceTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto& kind) {
                           return std::string(std::strchr(kind.param, ':') ? "Ipv6" : "Ipv4");
                         });

using OneTraceTest = TraceTest;

TEST_F(OneTraceTest, SeveralAdaptersShareAFileOfWholeBlocks) {
  TestNode a("127.0.0.1", uint64_t{1} << 20, Traced("a"));
  TestNode b("127.0.0.1", uint64_t{1} << 20, Traced("a"));
  QueuePair& qa = a.MakeQp(QpType::kRc);
  QueuePair& qb = b.MakeQp(QpType::kRc);
  Connect(a, qa, b, qb);
  WriteAcross(a, qa, b, 20'000);
  // Neither trace was closed.
  const Capture capture = Read(PathOf("a"));
  EXPECT_EQ(capture.sections, 2U);
  EXPECT_GE(capture.packets.size(), 12U);
  ExpectAllRight(capture);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const auto seconds = static_cast<int64_t>(capture.packets.back().time_ns / 1'000'000'000);
  EXPECT_NEAR(static_cast<double>(seconds), static_cast<double>(now.tv_sec), 60.0);
}

TEST_F(OneTraceTest, AChildWritesNothing) {
  TestNode a("127.0.0.1", uint64_t{1} << 20, Traced("a"));
  QueuePair& from = a.MakeQp(QpType::kRc);
  QueuePair& to = a.MakeQp(QpType::kRc);
  Connect(a, from, a, to);
  WriteAcross(a, from, a, 1'000);
  const size_t before = Read(PathOf("a")).packets.size();
  const pid_t child = fork();
  if (child == 0) {
    a.CloseAdapter();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Read(PathOf("a")).packets.size(), before);
  WriteAcross(a, from, a, 1'000);
  EXPECT_GT(Read(PathOf("a")).packets.size(), before);
}

TEST_F(OneTraceTest, AFileThatCannotBeOpenedIsAnError) {
  AdapterOptions options = TestOptions();
  options.trace = testing::TempDir() + "/no/such/folder/file";
  const auto opened = Adapter::Open(options);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kSystem);
  EXPECT_NE(opened.error().os_error, 0);
  EXPECT_NE(opened.error().text.find(options.trace), std::string::npos) << opened.error().text;
}

TEST_F(OneTraceTest, AFileThatIsNotAnOwnRegularFileIsRefused) {
  AdapterOptions options = TestOptions();
  options.trace = "/dev/full";
  EXPECT_EQ(Adapter::Open(options).error().text,
            "cannot open the trace /dev/full is a device: name a regular file, or one that is not "
            "there yet");
  options.trace = PathOf("a");
  ASSERT_EQ(symlink(PathOf("b").c_str(), options.trace.c_str()), 0);
  const auto opened = Adapter::Open(options);
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().text.find("symbolic link"), std::string::npos) << opened.error().text;
  EXPECT_NE(access(PathOf("b").c_str(), F_OK), 0) << "nothing is made behind it";
}

// Limits the size of files during its lifetime.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

// If the limit were not handled, SIGXFSZ would end the test.
TEST_F(OneTraceTest, AFileAtItsSizeLimitEndsTheTraceWithOneWarning) {
  static std::vector<std::string> warnings;  // a function pointer has no captures
  for (const bool is_urgent : {false, true}) {
    AdapterOptions options = Traced(is_urgent ? "a" : "b");
    if (is_urgent) {
      options.on_urgent_warning = [](const std::string& warning) { warnings.push_back(warning); };
    }
    const FileSizeLimit limit(8192);
    TestNode a("127.0.0.1", uint64_t{1} << 20, options);
    QueuePair& from = a.MakeQp(QpType::kRc);
    QueuePair& to = a.MakeQp(QpType::kRc);
    Connect(a, from, a, to);
    WriteAcross(a, from, a, 20'000);
    WriteAcross(a, from, a, 20'000);
    if (!is_urgent) warnings = a.adapter().TakeWarnings();
    std::erase_if(warnings,
                  [](const auto& warning) { return warning.find("trace") == std::string::npos; });
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0], "the trace " + options.trace +
                               " ends early: it is as long as files may be (ulimit -f)");
    warnings.clear();
  }
}

}  // namespace
}  // namespace verbena::adapter
