#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/plain_socket.h"
#include "tests/support/verbs_world.h"
#include "verbena/connection_manager.h"

namespace verbena {

inline constexpr IpAddress kLocalhost = IpAddress::FromIpv4(127, 0, 0, 1);

inline Options StreamTestOptions() {
  Options options = VerbsTestOptions();
  options.transport = TransportType::kIwarp;
  return options;
}

inline std::string Text(size_t size, uint8_t seed) {
  std::string text(size, 0);
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(seed + i * 7 + (i >> 9));
  return text;
}

// A program on an iWARP device with a queue pair of plain bytes, and a listener.
class PlainStreamWorld : public testing::Test, protected VerbsNode {
 protected:
  PlainStreamWorld() : VerbsNode("127.0.0.1", StreamTestOptions()) { Good(qp_.Prepare()); }

  void Listen(const CmListenOptions& options = {.rdma = false, .plain = true}) {
    ASSERT_TRUE(listener_.Bind({.ip = kLocalhost}));
    ASSERT_TRUE(listener_.Listen(4, options));
  }
  uint16_t port() const { return listener_.local().port; }
  CmEvent Next() const {
    pollfd file{.fd = channel_.fd(), .events = POLLIN, .revents = 0};
    if (poll(&file, 1, 20'000) != 1) {
      ADD_FAILURE() << "no event in time";
      return {.type = CmEventType::kPosted};
    }
    return channel_.Wait().value_or(CmEvent{.type = CmEventType::kPosted});
  }
  ConnectionParameters Parameters() const {
    ConnectionParameters parameters;
    parameters.qp = qp_.number();
    parameters.service = CmService::kStream;
    return parameters;
  }
  // Takes the next request and accepts it.
  CmEvent Serve() {
    const CmEvent request = Next();
    EXPECT_EQ(request.type, CmEventType::kConnectRequest);
    id_ = Good(CmId::Take(context, channel_, request, nullptr));
    Good(id_.Accept(Parameters()));
    EXPECT_EQ(Next().type, CmEventType::kEstablished);
    return request;
  }
  // An ordinary client is connected to the queue pair.
  PlainSocket Connected() {
    Listen();
    PlainSocket peer = PlainSocket::To(port());
    Serve();
    return peer;
  }
  void PostSend(size_t offset, uint32_t length) const {
    EXPECT_TRUE(qp_.Post(Send{.id = WrId(1), .data = region.Local(offset, length)}));
  }
  void PostEnd() const { EXPECT_TRUE(qp_.Post(Send{.id = WrId(2)})); }
  void PostReceive(size_t offset, uint32_t length, bool fills = false) const {
    EXPECT_TRUE(
        qp_.Post(Receive{.id = WrId(3), .data = region.Local(offset, length), .fills = fills}));
  }
  std::string Bytes(size_t offset, size_t length) const {
    return {reinterpret_cast<const char*>(memory.data()) + offset, length};
  }
  void Put(size_t offset, std::string_view text) {
    std::memcpy(memory.data() + offset, text.data(), text.size());
  }
  // The bytes of the next completion, which must be a success.
  uint32_t WaitBytes() const {
    const auto completion = Wait();
    EXPECT_TRUE(completion && completion->ok());
    return completion ? completion->byte_count : UINT32_MAX;
  }
  QpState state() const { return Good(qp_.Query()).state; }
  CmUseCounters counters() const { return Good(context.Query()).cm; }

  CmChannel channel_ = Good(CmChannel::Create());
  QueuePair qp_ = MakeQp(QpType::kStream);
  CmId listener_ = Good(CmId::Create(context, channel_, PortSpace::kTcp, nullptr));
  CmId id_;
};

}  // namespace verbena
