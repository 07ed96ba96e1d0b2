// A client whose requests name addresses only: the server has the list of its registered buffers.
// The client reads blocks into buffers of its own, of which it registers each once.
//
//   listed_buffers                       both ends, here
//   listed_buffers server [PORT]
//   listed_buffers client HOST [PORT]

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "examples/support/endpoint.h"
#include "examples/support/two_ends.h"

namespace {

using examples::Endpoint;
using examples::Must;
using verbena::Access;
using verbena::BufferNotice;
using verbena::Rendezvous;

constexpr uint32_t kBlock = 4'096;
constexpr uint32_t kBuffers = 8;
constexpr uint32_t kRequests = 1'000;

// What the client sends: a notice of its cache, or a request, in which there is no key.
struct Message {
  enum class Kind : uint32_t { kNotice, kRead, kEnd };
  Kind kind = Kind::kNotice;
  std::array<std::byte, verbena::kBufferNoticeBytes> notice = {};
  uint64_t block = 0;
  uint64_t address = 0;
};

std::byte ByteOf(uint64_t block) { return static_cast<std::byte>(block * 7 + 1); }

bool Serve(const verbena::RendezvousListener& listener) {
  const Rendezvous client = Must(listener.Accept());
  Endpoint end;
  if (!end.Connect(client)) return false;
  std::vector<std::byte> disk(kBlock);
  const auto region = end.Register(disk, Access::kLocal);
  auto buffers = Must(verbena::PeerBuffers::Create());  // ends with the connection
  uint64_t served = 0, notices = 0;
  while (true) {
    const auto message = Must(client.Receive<Message>());
    if (message.kind == Message::Kind::kEnd) break;
    if (message.kind == Message::Kind::kNotice) {
      Must(buffers.Apply(verbena::ParseBufferNotice(message.notice).value()));
      ++notices;
      continue;
    }
    const auto target = buffers.Find(message.address, kBlock, Access::kRemoteWrite);
    if (!target) return false;
    std::memset(disk.data(), static_cast<int>(ByteOf(message.block)), kBlock);
    Must(end.qp.Post(verbena::Write{.data = region.Local(0, kBlock), .remote = *target}));
    if (!end.WaitSuccess() || !client.Send('w')) return false;
    ++served;
  }
  std::printf("server: %llu requests, %llu notices, %zu buffers in the list at the end\n",
              static_cast<unsigned long long>(served), static_cast<unsigned long long>(notices),
              buffers.size());
  return served == kRequests && notices < 2 * kBuffers + 1;
}

bool Ask(const std::string& host, uint16_t port) {
  const auto server = Rendezvous::Connect(host, port);
  if (!server) return false;
  Endpoint end;
  if (!end.Connect(*server)) return false;
  const auto announce = [&](const BufferNotice& notice) {
    return server->Send(Message{.notice = verbena::ToBytes(notice)}).has_value();
  };
  auto cache = Must(verbena::RegistrationCache::Create(
      std::make_unique<verbena::AnnouncingBackend>(BackendOf(end.domain), announce),
      {.released_remote_key = verbena::ReleasedRemoteKey::kKept}));
  std::vector<std::byte> memory(size_t{kBuffers} * kBlock);
  for (uint64_t block = 0; block < kRequests; ++block) {
    std::byte* const buffer = &memory[block % kBuffers * kBlock];
    const auto registered =
        Must(cache.Acquire(buffer, kBlock, Access::kLocal | Access::kRemoteWrite));
    const Message request{.kind = Message::Kind::kRead,
                          .block = block,
                          .address = reinterpret_cast<uintptr_t>(buffer)};
    if (!server->Send(request) || !server->Receive<char>()) return false;
    if (buffer[0] != ByteOf(block) || buffer[kBlock - 1] != ByteOf(block)) return false;
  }
  const verbena::CacheStatistics seen = cache.Query();
  std::printf("client: %u blocks read, %llu registrations\n", kRequests,
              static_cast<unsigned long long>(seen.misses));
  cache.Collect(true);
  return server->Send(Message{.kind = Message::Kind::kEnd}).has_value() && seen.misses == kBuffers;
}

}  // namespace

int main(int argc, char** argv) { return examples::RunEnds(argc, argv, Serve, Ask); }
