#include "cli/peer_options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

// Whether the command line is valid.
bool Parses(const std::string& words, PeerOptions& options) {
  CommandLine line("test", "");
  AddPeerOptions(line.root(), options);
  return line.Run(words);
}

TEST(PeerOptionsTest, WithoutAHostItIsTheServer) {
  PeerOptions options;
  ASSERT_TRUE(Parses("", options));
  EXPECT_TRUE(options.is_server());
  EXPECT_EQ(options.peer.port, kMeetingPort);
}

TEST(PeerOptionsTest, WithAHostOrSelfItIsTheClient) {
  PeerOptions client;
  ASSERT_TRUE(Parses("::1 --port 7 --json", client));
  EXPECT_FALSE(client.is_server());
  EXPECT_EQ(client.peer.host, "::1");
  EXPECT_EQ(client.peer.port, 7);
  EXPECT_TRUE(client.json);
  PeerOptions self;
  ASSERT_TRUE(Parses("--self", self));
  EXPECT_FALSE(self.is_server());
}

TEST(PeerOptionsTest, RefusesAHostTogetherWithSelf) {
  PeerOptions options;
  EXPECT_FALSE(Parses("::1 --self", options));
  EXPECT_FALSE(Parses("--port 65536", options));
}

TEST(PeerOptionsTest, APortThatIsTakenIsAnError) {
  const auto taken = Listener::Open(0);
  ASSERT_TRUE(taken);
  EXPECT_FALSE(RunServer({.peer = {.port = taken->port()}}));
}

}  // namespace
}  // namespace verbena::cli
