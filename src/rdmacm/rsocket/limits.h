#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace verbena::rsockets {

// Bounds and defaults of rsockets, each with its reason. Programs change the sizes of a socket with
// rsetsockopt; no file or variable of the environment changes a default.

// A write of more than this is cut, so that the peer copies one piece while the next is on its way.
inline constexpr uint32_t kTransferMax = 64 << 10;
// The first piece of a call is small and each further one twice as large: the peer starts early.
inline constexpr uint32_t kFirstTransfer = 4 << 10;
// A sender waits until so much of its buffer is free, rather than send many small pieces.
inline constexpr uint32_t kSendLowWater = 2 << 10;

// Bytes of the buffers of a stream socket. The receive buffer is granted to the peer in halves.
inline constexpr uint32_t kSendBufferDefault = 256 << 10;
inline constexpr uint32_t kReceiveBufferDefault = 256 << 10;
inline constexpr uint32_t kBufferMin = 4 << 10;
inline constexpr uint32_t kBufferMax = 256 << 20;

// Work requests of a queue. One receive stands behind each credit.
inline constexpr uint16_t kQueueDefault = 384;
inline constexpr uint16_t kQueueMin = 16;
// Credits are numbers of 16 bits that must not lap each other.
inline constexpr uint16_t kQueueMax = 0xFFFE;
// Bytes that a work request can carry in itself: an entry of the target list, and small messages.
inline constexpr uint16_t kInlineDefault = 64;
inline constexpr uint16_t kInlineMax = 512;

// Control messages need no credit: so many are on their way at once, and the send queue has room
// for them besides that for data. RNR retries cover a peer whose receive queue is short of these.
inline constexpr unsigned kControlSlots = 4;

// Entries of the target list, through which the peer grants buffers: one for each half.
inline constexpr unsigned kTargetEntries = 2;

// Mappings of riomap in one direction: what the scaled 8 bits of the connection header can say.
inline constexpr unsigned kIomapMax = 127 << 8;

// Slots of a datagram, with its header; the size that rdma-core has, whose receives are as long.
inline constexpr uint32_t kDatagramSlot = 2048;
// Datagrams that came over the UDP socket and wait for rrecv. More are dropped, as UDP does.
inline constexpr std::size_t kUdpDatagramsMax = 256;
// Destinations that a datagram socket knows; the one longest without use is dropped for a new one.
inline constexpr std::size_t kDestinationsMax = 4096;
// Local addresses that a datagram socket sends from: one UD queue pair each.
inline constexpr std::size_t kDatagramPortsMax = 64;

// Connections of a listener that wait for raccept, if the program asks for more.
inline constexpr int kBacklogMax = 4096;
// Connections of a listener whose handshake is under way; requests beyond are refused.
inline constexpr std::size_t kHandshakesMax = 1024;
// Descriptors are numbers below this.
inline constexpr std::size_t kDescriptorsMax = 1 << 20;

// A call polls for so long before it sleeps: as long as a wake-up takes.
inline constexpr Duration kSpinTime = Microseconds(20);
// One try to resolve an address or a route, and the number of tries.
inline constexpr int kResolveTimeoutMs = 2000;
inline constexpr int kResolveTries = 3;
// rclose waits so long for the peer to acknowledge what was sent (SO_LINGER: another time).
inline constexpr Duration kCloseWait = Seconds(10);
// TCP_KEEPIDLE, as Linux has it.
inline constexpr int kKeepaliveIdleSeconds = 7200;

}  // namespace verbena::rsockets
