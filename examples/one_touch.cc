// A key for one message: the peer can write once, and that write invalidates the key. The owner
// need not invalidate it, and a second write, whether late or malicious, changes nothing.
//
//   one_touch                       both ends, here
//   one_touch server [PORT]
//   one_touch client HOST [PORT]

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
using verbena::CompletionStatus;
using verbena::Rendezvous;

constexpr uint32_t kBytes = 10'000;  // several packets, one message
constexpr std::byte kFirst{0x11}, kSecond{0x22};

bool IsAll(const std::vector<std::byte>& bytes, std::byte value) {
  for (const std::byte byte : bytes) {
    if (byte != value) return false;
  }
  return true;
}

bool Serve(const verbena::RendezvousListener& listener) {
  const Rendezvous rendezvous = Must(listener.Accept());
  Endpoint end;
  if (!end.Connect(rendezvous)) return false;
  std::vector<std::byte> letterbox(kBytes);
  const auto region = end.Register(letterbox, Access::kLocal | Access::kWindowBind);
  const auto window = Must(verbena::MemoryWindow::Allocate(end.domain, verbena::WindowType::k2A));
  const verbena::Key key = verbena::NextKey(window.first_key());
  Must(end.qp.Post(verbena::Bind{.window = window.first_key(),
                                 .r_key = key,
                                 .region = region.l_key(),
                                 .start = region.start(),
                                 .length = kBytes,
                                 .access = Access::kRemoteWrite,
                                 .one_touch = true}));
  if (!end.WaitSuccess()) return false;
  std::printf("server: a key for one write of %u bytes\n", kBytes);
  if (!rendezvous.Send(verbena::RemoteAddress{region.start(), key})) return false;
  if (!rendezvous.Receive<char>()) return false;
  const bool is_first = IsAll(letterbox, kFirst);
  std::printf("server: the memory %s the first message\n",
              is_first ? "contains" : "DOES NOT contain");
  return is_first;
}

bool Write(const std::string& host, uint16_t port) {
  const auto rendezvous = Rendezvous::Connect(host, port);
  if (!rendezvous) return false;
  Endpoint end;
  if (!end.Connect(*rendezvous)) return false;
  std::vector<std::byte> letter(kBytes, kFirst);
  const auto region = end.Register(letter, Access::kLocal);
  const auto letterbox = rendezvous->Receive<verbena::RemoteAddress>();
  if (!letterbox) return false;

  const verbena::Write write{.data = region.Local(0, kBytes), .remote = *letterbox};
  Must(end.qp.Post(write));
  if (!end.WaitSuccess()) return false;
  std::printf("client: wrote once\n");

  letter.assign(kBytes, kSecond);
  Must(end.qp.Post(write));
  const auto refused = end.Wait();
  if (!refused || refused->status != CompletionStatus::kRemoteAccessError) return false;
  std::printf("client: the second write: %s\n", NameOf(refused->status));
  return rendezvous->Send('d').has_value();
}

}  // namespace

int main(int argc, char** argv) { return examples::RunEnds(argc, argv, Serve, Write); }
