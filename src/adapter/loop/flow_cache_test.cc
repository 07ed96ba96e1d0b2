#include "adapter/loop/flow_cache.h"

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include "base/random.h"
#include "wire/roce/packet.h"

namespace verbena::adapter {
namespace {

using Bytes = std::array<std::byte, 64>;

wire::UdpFlow Flow(uint32_t from, uint32_t to, uint16_t port) {
  return {.source = IpAddress::FromIpv4(Ipv4Address(from)),
          .destination = IpAddress::FromIpv4(Ipv4Address(to)),
          .source_port = port,
          .destination_port = 4'791};
}

wire::Icrc Sum(const wire::PseudoHeader& header, const Bytes& packet) {
  wire::IcrcSum sum(header, std::span(packet).first<wire::Bth::kSize>());
  sum.Update(std::span(packet).subspan(wire::Bth::kSize));
  return sum.Finish();
}

// Many more flows than entries, so that they replace each other.
TEST(FlowCache, NeverTakesOneFlowForAnother) {
  FlowCache cache;
  Random random(3);
  Bytes packet{};
  for (int i = 0; i < 5'000; ++i) {
    const wire::UdpFlow flow =
        Flow(random.Next32() & 15, random.Next32() & 15, static_cast<uint16_t>(random.Below(8)));
    const size_t size = packet.size() + wire::kIcrcSize;
    const auto headers = flow.HeadersFor(size);
    const auto id = static_cast<uint16_t>(random.Below(3));
    const wire::Icrc with_zero = wire::IcrcOf(headers.bytes(), packet);
    const wire::Icrc expected(with_zero.value() ^ wire::IdentificationDelta(id, size).value());
    ASSERT_EQ(Sum(cache.Find(flow, size, id).header, packet), expected);
  }
  EXPECT_TRUE(cache.IsConsistent());
  cache.Find(Flow(1, 2, 3), packet.size(), 0).flow = Flow(2, 1, 3);
  EXPECT_FALSE(cache.IsConsistent()) << "it is not looked for there";
}

}  // namespace
}  // namespace verbena::adapter
