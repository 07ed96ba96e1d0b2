// Two programs send a message back and forth, and check every byte.
//
//   ping_pong                       both ends, here
//   ping_pong server [PORT]
//   ping_pong client HOST [PORT]

#include <array>
#include <chrono>
#include <cstdio>

#include "examples/support/endpoint.h"
#include "examples/support/two_ends.h"

namespace {

using examples::Endpoint;
using examples::Must;
using verbena::Access;
using verbena::Rendezvous;

constexpr int kRounds = 1'000;
constexpr uint32_t kBytes = 64;

// The first half of the memory is for sends, the second for receives.
class Player {
 public:
  Player() = default;

  [[nodiscard]] bool Connect(const Rendezvous& rendezvous) {
    Must(end_.qp.Prepare());
    ExpectBall();
    return end_.Connect(rendezvous);
  }

  void ExpectBall() { Must(end_.qp.Post(verbena::Receive{.data = region_.Local(kBytes, kBytes)})); }

  void Hit(int round) {
    for (uint32_t i = 0; i < kBytes; ++i) bytes_[i] = ByteOf(round, i);
    Must(end_.qp.Post(
        verbena::Send{.data = region_.Local(0, kBytes), .flags = {.signaled = false}}));
  }

  // Waits for the message of this round. True if every byte is right.
  [[nodiscard]] bool Catch(int round) {
    const auto completion = end_.Wait();
    if (!completion || !completion->ok() || completion->byte_count != kBytes) return false;
    for (uint32_t i = 0; i < kBytes; ++i) {
      if (bytes_[kBytes + i] != ByteOf(round, i)) return false;
    }
    ExpectBall();
    return true;
  }

 private:
  static std::byte ByteOf(int round, uint32_t i) {
    return static_cast<std::byte>(static_cast<uint32_t>(round) * 7 + i);
  }

  std::array<std::byte, 2 * kBytes> bytes_{};
  Endpoint end_;
  verbena::MemoryRegion region_ = end_.Register(bytes_, Access::kLocal);
};

bool Serve(const verbena::RendezvousListener& listener) {
  const Rendezvous rendezvous = Must(listener.Accept());
  Player player;
  if (!player.Connect(rendezvous)) return false;
  for (int round = 0; round < kRounds; ++round) {
    if (!player.Catch(round)) return false;
    player.Hit(round);
  }
  // The last message can still be in flight.
  return rendezvous.Receive<char>().has_value();
}

bool Play(const std::string& host, uint16_t port) {
  const auto rendezvous = Rendezvous::Connect(host, port);
  if (!rendezvous) return false;
  Player player;
  if (!player.Connect(*rendezvous)) return false;
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < kRounds; ++round) {
    player.Hit(round);
    if (!player.Catch(round)) return false;
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  std::printf("%d rounds of %u bytes, each checked: %.1f us per round\n", kRounds, kBytes,
              took.count() / kRounds);
  return rendezvous->Send('!').has_value();
}

}  // namespace

int main(int argc, char** argv) { return examples::RunEnds(argc, argv, Serve, Play); }
