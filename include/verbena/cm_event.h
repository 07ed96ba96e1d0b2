#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "verbena/gid.h"
#include "verbena/ip_address.h"
#include "verbena/numbers.h"

namespace verbena {

// Values of the connection manager: addresses with ports, what two ends agree on, and events.

// Each has 65,535 ports of its own, which all processes of a machine share (IBA A11).
enum class PortSpace : uint8_t {
  kTcp = 6,   // connections
  kUdp = 17,  // datagrams
  kIb = 63,   // either
};

// An IP address and a port of a port space.
struct CmAddress {
  IpAddress ip = {};  // unspecified: any address of this machine
  uint16_t port = 0;
  uint32_t interface = 0;  // of a link-local address; else 0

  friend bool operator==(const CmAddress&, const CmAddress&) = default;
};

// Bytes that a consumer sends along with a message of the connection manager. The peer gets them
// followed by zeros, as many as the message has room for.
struct CmPrivateData {
  static constexpr size_t kMax = 224;

  std::array<std::byte, kMax> bytes = {};
  uint8_t size = 0;

  [[nodiscard]] std::span<const std::byte> view() const { return {bytes.data(), size}; }
};

// How a connection carries messages. kStream is a plain TCP connection, without messages, of an
// iWARP device.
enum class CmService : uint8_t { kRc, kUc, kXrc, kUd, kStream };

// What a TCP connection to an iWARP device carries.
enum class StreamKind : uint8_t {
  kUndecided,  // too few bytes have arrived
  kRdma,       // begins with an MPA request
  kIscsi,      // begins with an iSCSI login request
  kPlain,      // any other stream of bytes
};
inline constexpr size_t kStreamKinds = 4;

[[nodiscard]] const char* NameOf(StreamKind kind);  // "RDMA"

// Enhanced connection establishment: options of a vendor's queue pairs, which both ends must know.
// The connection manager only carries them.
struct VendorOptions {
  uint32_t vendor_id = 0;  // 24 bits; 0: none
  uint32_t options = 0;

  friend bool operator==(const VendorOptions&, const VendorOptions&) = default;
};

// What one end says of itself when a connection is made: in a request, and in its acceptance.
struct ConnectionParameters {
  QpNumber qp = {};
  CmService service = CmService::kRc;
  Psn psn = {};  // that the peer's first request to it has (IBA 12.6.5, "Starting PSN")
  uint8_t responder_resources = 0;  // reads and atomics that it serves at a time
  uint8_t initiator_depth = 0;      // and has outstanding at a time
  uint8_t retry_count = 7;
  uint8_t rnr_retry_count = 7;
  bool flow_control = false;
  bool has_srq = false;
  // The next four are the requester's alone.
  PathMtu mtu = PathMtu::k1024;
  uint8_t ack_timeout = 14;  // 4.096 us << it
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;
  QKey qkey = {};                     // of a datagram service
  VendorOptions vendor_options = {};  // not of a datagram service
  CmPrivateData private_data = {};
};

enum class CmEventType : uint8_t {
  kConnectRequest,   // Accept or Reject it
  kConnectResponse,  // the peer has accepted: Establish or Reject
  kEstablished,
  kRejected,
  kUnreachable,   // no answer in time
  kDisconnected,  // by the peer, or the end of our own Disconnect
  kTimewaitExit,  // the queue pair of a connection that has ended may be used again
  kSidrRequest,   // of a datagram service: Accept or Reject it
  kSidrResponse,  // the queue pair behind a datagram service
  kSidrUnreachable,
  kPosted,  // by CmChannel::Post
};

[[nodiscard]] const char* NameOf(CmEventType type);  // "connect request"

// The connection behind an event of type kConnectRequest or kSidrRequest, for CmId::Take.
using CmRequestId = StrongId<struct CmRequestIdTag, uint64_t>;

// What a consumer of the connection manager is notified of. A value type.
struct CmEvent {
  CmEventType type = {};
  // That of the id that the event is about; for a request, of the listening id.
  void* user = nullptr;
  CmRequestId request = {};
  // Of a request: the addresses in it. `local` is an address of this machine.
  CmAddress local = {};
  CmAddress remote = {};
  // The reason of a rejection (IBA 12.6.7.2, or a status of IBA 12.11.2 for datagrams).
  uint16_t reason = 0;
  // Of a request to an iWARP device, and the response to one: kRdma, kIscsi or kPlain. The last two
  // have no message of their own: in `peer` only the service is set, to kStream.
  StreamKind stream = StreamKind::kRdma;
  // What a request, a response and the answer of a datagram service say of the peer; of others only
  // private_data counts, with the size that the message has room for.
  ConnectionParameters peer = {};
};

}  // namespace verbena
