#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "adapter/iwarp_options.h"
#include "adapter/objects/iwarp_socket.h"
#include "base/time.h"
#include "fabric/tcp/ready_set.h"
#include "transport/iwarp/iscsi_refusal.h"
#include "transport/iwarp/mpa_handshake.h"
#include "transport/iwarp/send_buffer.h"

namespace verbena::adapter {

struct IwarpEnd;
class QueuePair;

using StreamId = fabric::ReadyId;

// How far the connection of a stream is.
enum class StreamPhase : uint8_t {
  kConnecting,     // by TCP or SCTP
  kAwaitsReply,    // this side has sent the MPA request
  kAwaitsRequest,  // the peer has connected
  kRefused,        // as kAwaitsRequest, for the bytes that the refusal needs
  kRequested,      // the program is to accept or reject
  kReplied,        // the program is to establish or reject
  kOpen,           // of a queue pair
  kClosing,        // sends what is left; waits until the peer closes it, too
};

// One connection of an iWARP adapter, by TCP or SCTP: the socket, its two buffers, and the set-up.
//
// Owned by IwarpCm; under the engine's lock.
class IwarpStream {
 public:
  IwarpStream(StreamId number, IwarpSocket socket, StreamPhase first_phase)
      : id(number), phase(first_phase), socket_(std::move(socket)) {}
  IwarpStream(const IwarpStream&) = delete;
  IwarpStream& operator=(const IwarpStream&) = delete;

  const StreamId id;
  StreamPhase phase;
  StreamKind kind = StreamKind::kRdma;  // what it carries
  IwarpEnd* end = nullptr;       // of the program; nullptr before it takes the request, and after
  IwarpEnd* listener = nullptr;  // of a request that the program has not taken
  QueuePair* qp = nullptr;       // of kOpen alone
  Time deadline = Time::Never();
  fabric::Interest watched = {};
  bool is_stalled = false;  // what it has received waits for pages
  // The peer's request or reply.
  transport::MpaFrameReader frame{wire::MpaFrameKind::kRequest};
  std::optional<transport::MpaAgreement> agreement = {};
  transport::IscsiStatus refusal = {};  // of kRefused
  uint8_t ready_repeats = 0;            // how often this side has said again that it is ready

  [[nodiscard]] const IwarpSocket& socket() const { return socket_; }
  void AwaitReply() { std::construct_at(&frame, wire::MpaFrameKind::kReply); }

  // --- Sending. ---

  void AllocateSends(size_t capacity) { out_ = std::make_unique<transport::SendBuffer>(capacity); }
  // REQUIRES, here and below: AllocateSends.
  [[nodiscard]] transport::SendBuffer& out() { return *out_; }
  void Put(std::span<const std::byte> bytes);
  [[nodiscard]] bool has_unsent() const { return out_ != nullptr && !out_->empty(); }
  // Gives the system what it takes, in one call. Returns how many bytes that were.
  size_t Flush();
  // The system takes no more now.
  [[nodiscard]] bool is_blocked() const { return is_blocked_; }
  // The system has refused bytes, because the stream is gone: they are lost.
  [[nodiscard]] bool has_lost_bytes() const { return has_lost_bytes_; }

  // --- Receiving. ---

  void AllocateReceives(size_t capacity);
  // Reads what there is room for, in one call. Returns how many bytes that were.
  size_t Read();
  // Bytes that were read and not taken.
  [[nodiscard]] std::span<std::byte> received() {
    return {receives_.get() + begin_, end_of_receives_ - begin_};
  }
  void Take(size_t bytes);
  [[nodiscard]] bool has_room() const {
    return receives_ != nullptr &&
           receive_capacity_ - (end_of_receives_ - begin_) >= socket_.read_min();
  }
  // Reads and drops.
  void Discard();
  // Reads a part of the peer's request or reply. What is behind a reply is received.
  void ReadFrame();
  // Reads until the head of the stream has `size` bytes, which belong to nothing yet...
  void ReadHead(size_t size);
  [[nodiscard]] std::span<const std::byte> head() const {
    return std::span(head_).first(head_size_);
  }
  // ...and gives them to the peer's request, or to what is received.
  void HeadIsOfFrame();
  void HeadIsReceived();
  // The peer has sent bytes that its set-up does not allow yet.
  [[nodiscard]] bool is_hasty() const { return is_hasty_; }

  // The socket is not used any more: SCTP ends the association in the background.
  void EndSocket();

  // The peer sends nothing more; the stream is gone.
  [[nodiscard]] bool peer_has_closed() const { return peer_has_closed_; }
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  void CloseWrites();
  [[nodiscard]] bool has_closed_writes() const { return has_closed_writes_; }
  // The peer learns that the stream ends in the middle. Nothing more is sent.
  void Reset();

 private:
  void OnEnd(fabric::TcpTransfer::End end);
  void Receive(std::span<const std::byte> bytes);

  IwarpSocket socket_;
  std::unique_ptr<transport::SendBuffer> out_;
  std::unique_ptr<std::byte[]> receives_;
  size_t receive_capacity_ = 0;
  size_t begin_ = 0;
  size_t end_of_receives_ = 0;
  std::array<std::byte, transport::kIscsiHeaderBytes> head_;
  size_t head_size_ = 0;
  bool is_blocked_ = false;
  bool has_lost_bytes_ = false;
  bool is_hasty_ = false;
  bool peer_has_closed_ = false;
  bool is_broken_ = false;
  bool has_closed_writes_ = false;
};

}  // namespace verbena::adapter
