// Any packets into the UDP port of an SCTP listener, and into associations that they set up, while
// time passes and the program reads: what the library holds is bounded, messages have the length
// and the set-up they must have, and nothing is left when the peer is gone.
//
// The library is one for the process, and draws its tags and cookies: the harness puts those of the
// association into packets, so an input means the same in each run.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fabric/sctp/sctp_hub.h"
#include "fabric/sctp/sctp_socket.h"
#include "fabric/sctp/sctp_stack.h"
#include "fuzz/input.h"
#include "tests/support/raw_sctp.h"

namespace {

using namespace verbena;
using namespace verbena::fabric;
using fuzz::Input;
using Bytes = std::vector<std::byte>;

constexpr uint32_t kAdaptation = 1;
const IpAddress kHere = IpAddress::FromIpv4(127, 0, 0, 1);

// The listener of all inputs.
struct Node {
  Node() {
    CHECK(listener.Listen().has_value());
    listener.Watch(ReadyId(1), {.reads = true});
  }

  void Pump() {
    hub->Pump(now);
    std::array<ReadyId, 16> ready;
    static_cast<void>(hub->TakeReady(ready));
  }
  static size_t Links() {
    SctpStack& stack = SctpStack::Get();
    const SctpLock lock(stack);
    return stack.links();
  }

  Time now = Time() + Seconds(1);
  std::unique_ptr<SctpHub> hub = std::move(*SctpHub::Open());
  SctpSocket listener = std::move(*SctpSocket::Bind(*hub, {.ip = kHere}, kAdaptation));
  Bytes scratch = Bytes(SctpSocket::kMessageMax);
};

class World {
 public:
  World(Node& node, Input input) : node_(node), input_(input), peer_(node.listener.local().port) {}

  void Run() {
    while (!input_.empty()) OneStep();
    peer_.Send(RawSctpPeer::Abort());
    node_.Pump();
    Read();
    accepted_.clear();
    // What ends gracefully is given up after five seconds.
    for (int i = 0; i < 100 && Node::Links() > 0; ++i) {
      node_.now = node_.now + Milliseconds(100);
      node_.Pump();
      Read();
      accepted_.clear();
    }
    CHECK(Node::Links() == 0);
  }

 private:
  Bytes SomeBytes(size_t most) {
    const size_t count = input_.Byte();
    Bytes bytes(std::min<size_t>(count * (input_.Byte() % 8U + 1), most));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(input_.Byte());
    return bytes;
  }
  void Connect() {
    peer_.Send(peer_.Init(input_.Byte() % 8 == 0 ? std::nullopt : std::optional(kAdaptation)));
    node_.Pump();
    if (!peer_.TakeCookie(0)) return;
    peer_.Send(peer_.CookieEcho());
    node_.Pump();
  }
  void Read() {
    while (auto accepted = node_.listener.Accept()) accepted_.push_back(std::move(*accepted));
    for (SctpSocket& socket : accepted_) {
      const SctpMessage message = socket.Receive(node_.scratch);
      CHECK(message.bytes <= SctpSocket::kMessageMax);
      CHECK((message.end == TcpTransfer::End::kNone) == (message.bytes > 0));
      if (message.bytes > 0) static_cast<void>(socket.Send(message.protocol, Bytes(9)));
    }
  }
  void OneStep() {
    switch (input_.Byte() % 8) {
      case 0:
        peer_.SendDatagram(SomeBytes(1'500));
        break;
      case 1:
        peer_.Send(SomeBytes(1'500));
        break;
      case 2: {
        const uint8_t type = input_.Byte();
        peer_.Send(RawSctpPeer::Chunk(type, input_.Byte(), SomeBytes(1'500)));
        break;
      }
      case 3: {
        const uint8_t flags = input_.Byte() % 8;
        peer_.Send(peer_.Data(16 + input_.Byte() % 2U, SomeBytes(1'500), flags));
        break;
      }
      case 4:
        peer_.SendDatagram(peer_.Packet(input_.Byte(), SomeBytes(200)));
        break;
      case 5:
        node_.now = node_.now + Milliseconds(10 * (1 + input_.Byte()));
        break;
      case 6:
        return Connect();
      default:
        Read();
    }
    node_.Pump();
    if (input_.Byte() % 4 == 0) static_cast<void>(peer_.Await({}, 0));
  }

  Node& node_;
  Input input_;
  RawSctpPeer peer_;
  std::vector<SctpSocket> accepted_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Node node;
  World(node, Input({data, size})).Run();
  return 0;
}
