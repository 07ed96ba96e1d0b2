#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace verbena::rsockets {

// Bounds and defaults of rsockets, each with its reason. Programs change the sizes of a socket with
// rsetsockopt; no file or variable of the environment changes a default.

// Longer writes are split, so that the peer copies one part while the next is in flight.
inline constexpr uint32_t kTransferMax = 64 << 10;
// The first part of a call is small, and each further one is twice as large, so that the peer
// starts early.
inline constexpr uint32_t kFirstTransfer = 4 << 10;
// A sender waits until this much of its buffer is free, instead of sending many small parts.
inline constexpr uint32_t kSendLowWater = 2 << 10;

// Bytes of the buffers of a stream socket. The receive buffer is granted to the peer in halves.
inline constexpr uint32_t kSendBufferDefault = 256 << 10;
inline constexpr uint32_t kReceiveBufferDefault = 256 << 10;
inline constexpr uint32_t kBufferMin = 4 << 10;
inline constexpr uint32_t kBufferMax = 256 << 20;

// Work requests of a queue. Each credit has a posted receive.
inline constexpr uint16_t kQueueDefault = 384;
inline constexpr uint16_t kQueueMin = 16;
// Credits are 16-bit counters that must not wrap around each other.
inline constexpr uint16_t kQueueMax = 0xFFFE;
// Bytes of inline data of a work request: an entry of the target list, and small messages.
inline constexpr uint16_t kInlineDefault = 64;
inline constexpr uint16_t kInlineMax = 512;

// Control messages need no credit: at most this many are in flight, and the send queue has room for
// them in addition to data. RNR retries cover a peer that has no receive posted for them.
inline constexpr unsigned kControlSlots = 4;

// Entries of the target list, in which the peer grants buffers: one per half.
inline constexpr unsigned kTargetEntries = 2;

// Mappings of riomap in one direction: the maximum of the scaled 8 bits of the connection header.
inline constexpr unsigned kIomapMax = 127 << 8;

// The size of the slot of a datagram, including its header; the same as in rdma-core.
inline constexpr uint32_t kDatagramSlot = 2048;
// Datagrams that came over UDP and wait for rrecv. Further ones are dropped, as by UDP.
inline constexpr std::size_t kUdpDatagramsMax = 256;
// Destinations of a datagram socket; a new one replaces the least recently used.
inline constexpr std::size_t kDestinationsMax = 4096;
// Local addresses that a datagram socket sends from: one UD queue pair each.
inline constexpr std::size_t kDatagramPortsMax = 64;

// The maximum backlog of a listener.
inline constexpr int kBacklogMax = 4096;
// Connections of a listener in the handshake; further requests are refused.
inline constexpr std::size_t kHandshakesMax = 1024;
// Descriptors must be below this.
inline constexpr std::size_t kDescriptorsMax = 1 << 20;

// A call polls for this long before it sleeps: about the time of a wake-up.
inline constexpr Duration kSpinTime = Microseconds(20);
// The timeout of one attempt to resolve an address or a route, and the number of attempts.
inline constexpr int kResolveTimeoutMs = 2000;
inline constexpr int kResolveTries = 3;
// How long rclose waits for the peer to acknowledge the data that was sent (SO_LINGER sets another
// time).
inline constexpr Duration kCloseWait = Seconds(10);
// TCP_KEEPIDLE, as in Linux.
inline constexpr int kKeepaliveIdleSeconds = 7200;

}  // namespace verbena::rsockets
