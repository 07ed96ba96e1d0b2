// A program binds a memory window to a part of its memory, and another one reads through it. The
// first takes no part in the read. After the window is invalidated, its key is refused.
//
//   read_window                       both ends, here
//   read_window server [PORT]
//   read_window client HOST [PORT]

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

constexpr char kText[] = "what the owner of this memory wanted to show";
constexpr uint64_t kOffset = 70'001;  // a window can start at any byte

// The reader needs address, key and length of the window.
struct WindowAddress {
  verbena::RemoteAddress where;
  uint32_t length = 0;
};

bool Serve(const verbena::RendezvousListener& listener) {
  const Rendezvous rendezvous = Must(listener.Accept());
  Endpoint end;
  if (!end.Connect(rendezvous)) return false;

  std::vector<std::byte> memory(1 << 20);
  std::memcpy(&memory[kOffset], kText, sizeof kText);
  const auto region = end.Register(memory, Access::kLocal | Access::kWindowBind);
  const auto window = Must(verbena::MemoryWindow::Allocate(end.domain, verbena::WindowType::k2A));
  const verbena::Key key = verbena::NextKey(window.first_key());
  Must(end.qp.Post(verbena::Bind{.window = window.first_key(),
                                 .r_key = key,
                                 .region = region.l_key(),
                                 .start = region.start() + kOffset,
                                 .length = sizeof kText,
                                 .access = Access::kRemoteRead}));
  if (!end.WaitSuccess()) return false;
  std::printf("owner: bound a window of %zu bytes in a region of %zu\n", sizeof kText,
              memory.size());
  if (!rendezvous.Send(WindowAddress{{region.start() + kOffset, key}, sizeof kText})) return false;

  if (!rendezvous.Receive<char>()) return false;
  Must(end.qp.Post(verbena::Invalidate{.key = key}));
  if (!end.WaitSuccess()) return false;
  std::printf("owner: invalidated the window\n");
  return rendezvous.Send('c') && rendezvous.Receive<char>().has_value();
}

bool Visit(const std::string& host, uint16_t port) {
  const auto rendezvous = Rendezvous::Connect(host, port);
  if (!rendezvous) return false;
  Endpoint end;
  if (!end.Connect(*rendezvous)) return false;
  std::vector<std::byte> copy(4'096);
  const auto region = end.Register(copy, Access::kLocal);
  const auto window = rendezvous->Receive<WindowAddress>();
  if (!window) return false;

  const verbena::Read read{.data = region.Local(0, window->length), .remote = window->where};
  Must(end.qp.Post(read));
  if (!end.WaitSuccess() || std::memcmp(copy.data(), kText, sizeof kText) != 0) return false;
  std::printf("visitor: read \"%s\"\n", reinterpret_cast<const char*>(copy.data()));

  if (!rendezvous->Swap('d')) return false;
  Must(end.qp.Post(read));
  const auto refused = end.Wait();
  if (!refused || refused->status != CompletionStatus::kRemoteAccessError) return false;
  std::printf("visitor: the second read: %s\n", NameOf(refused->status));
  return rendezvous->Send('b').has_value();
}

}  // namespace

int main(int argc, char** argv) { return examples::RunEnds(argc, argv, Serve, Visit); }
