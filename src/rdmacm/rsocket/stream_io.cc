// Reading and writing bytes of a StreamSocket.

#include <algorithm>
#include <array>

#include "rdmacm/rsocket/stream_socket.h"

namespace verbena::rsockets {

std::size_t StreamSocket::ReadAvailable(IoCursor& to, bool peek) {
  const MutexLock receive_lock(receive_lock_);
  RingPart part;
  std::span<const std::byte> buffer;
  {
    const MutexLock lock(lock_);
    buffer = connection_->endpoint().receive_memory().bytes();
    if (connection_->receiver().readable() == 0) Advance(/*arm=*/false);
    const std::size_t readable = connection_->receiver().readable();
    part = connection_->receiver().Front(static_cast<uint32_t>(std::min(readable, to.left())));
  }
  // The peer does not write this memory before it is consumed.
  to.CopyIn(buffer.subspan(part.first.offset, part.first.length));
  to.CopyIn(buffer.subspan(part.second.offset, part.second.length));
  if (!peek && part.length() > 0) {
    const MutexLock lock(lock_);
    connection_->Consume(part.length());
  }
  return part.length();
}

ErrnoOr<std::size_t> StreamSocket::Receive(IoVector to, int flags,
                                           std::optional<SocketName>* source) {
  if ((flags & MSG_OOB) != 0) return Fail(Errno{EOPNOTSUPP});
  if (const auto connected = AwaitConnected(flags); !connected) return Fail(connected.error());
  if (source != nullptr) {
    if (const auto peer = PeerName()) *source = *peer;
  }
  const bool peek = (flags & MSG_PEEK) != 0;
  const bool wants_all = (flags & MSG_WAITALL) != 0 && !peek;
  IoCursor cursor(to);
  std::size_t done = 0;
  while (cursor.left() > 0) {
    done += ReadAvailable(cursor, peek);
    if (done > 0 && (!wants_all || cursor.left() == 0)) break;
    {
      const MutexLock lock(lock_);
      if (connection_->receiver().readable() == 0 && !connection_->can_read()) {
        const int error = done == 0 ? connection_->TakeError() : 0;
        if (error != 0) return Fail(Errno{error});
        break;  // end of the stream
      }
    }
    const auto waited = Await(flags, [this](bool arm) {
      const MutexLock lock(lock_);
      Advance(arm);
      return connection_->receiver().readable() > 0 || !connection_->can_read();
    });
    if (!waited && done == 0) return Fail(waited.error());
    if (!waited) break;
  }
  return done;
}

ErrnoOr<void> StreamSocket::CheckWritable() {
  if (connection_->can_write()) return {};
  const int error = connection_->TakeError();
  if (error != 0) return Fail(Errno{error});
  return Fail(Errno{connection_->is_over() ? ECONNRESET : EPIPE});
}

void StreamSocket::Gather(const StreamTransfer& transfer, IoCursor& from,
                          std::span<std::byte> buffer, std::span<std::byte> inline_bytes) {
  if (transfer.local.length() == 0) {
    from.CopyOut(inline_bytes.first(transfer.length));
    return;
  }
  from.CopyOut(buffer.subspan(transfer.local.first.offset, transfer.local.first.length));
  from.CopyOut(buffer.subspan(transfer.local.second.offset, transfer.local.second.length));
}

ErrnoOr<std::size_t> StreamSocket::SendBurst(IoCursor& from) {
  const MutexLock send_lock(send_lock_);
  std::array<std::byte, kInlineMax> inline_bytes;
  std::size_t done = 0;
  uint32_t piece = kFirstTransfer;
  while (from.left() > 0) {
    std::optional<StreamTransfer> transfer;
    std::span<std::byte> buffer;
    {
      const MutexLock lock(lock_);
      buffer = connection_->endpoint().send_memory().bytes();
      if (const auto writable = CheckWritable(); !writable) {
        if (done > 0) break;
        return Fail(writable.error());
      }
      const auto wanted = static_cast<uint32_t>(std::min<std::size_t>(piece, from.left()));
      if (connection_->SendIomaps()) transfer = connection_->sender().Next(wanted);
      if (!transfer) {
        Advance(/*arm=*/false);
        if (connection_->SendIomaps()) transfer = connection_->sender().Next(wanted);
      }
    }
    if (!transfer) break;
    Gather(*transfer, from, buffer, inline_bytes);
    const MutexLock lock(lock_);
    connection_->PostData(*transfer, inline_bytes);
    done += transfer->length;
    piece = std::min(2 * piece, kTransferMax);
  }
  return done;
}

ErrnoOr<std::size_t> StreamSocket::Send(IoVector from, int flags,
                                        const std::optional<SocketName>& destination) {
  if (destination) return Fail(Errno{EISCONN});
  if ((flags & MSG_OOB) != 0) return Fail(Errno{EOPNOTSUPP});
  if (const auto connected = AwaitConnected(flags); !connected) return Fail(connected.error());
  IoCursor cursor(from);
  std::size_t done = 0;
  while (cursor.left() > 0) {
    const auto sent = SendBurst(cursor);
    if (!sent && done == 0) return Fail(sent.error());
    if (!sent) break;
    done += *sent;
    if (cursor.left() == 0) break;
    const auto waited = Await(flags, [this](bool arm) {
      const MutexLock lock(lock_);
      Advance(arm);
      return connection_->sender().can_send() || !connection_->can_write();
    });
    if (!waited && done == 0) return Fail(waited.error());
    if (!waited) break;
  }
  return done;
}

ErrnoOr<std::size_t> StreamSocket::DirectBurst(std::span<const std::byte> from, uint64_t offset) {
  const MutexLock send_lock(send_lock_);
  std::array<std::byte, kInlineMax> inline_bytes;
  const iovec whole{.iov_base = const_cast<std::byte*>(from.data()), .iov_len = from.size()};
  IoCursor cursor({&whole, 1});
  std::size_t done = 0;
  while (cursor.left() > 0) {
    std::optional<StreamTransfer> transfer;
    std::span<std::byte> buffer;
    std::optional<IomapEntry> entry;
    {
      const MutexLock lock(lock_);
      buffer = connection_->endpoint().send_memory().bytes();
      if (const auto writable = CheckWritable(); !writable) return Fail(writable.error());
      entry = connection_->FindIomap(offset + done);
      if (!entry) break;
      const uint64_t left = entry->offset + entry->buffer.length - (offset + done);
      const auto wanted =
          static_cast<uint32_t>(std::min({left, uint64_t{cursor.left()}, uint64_t{kTransferMax}}));
      transfer = connection_->sender().NextDirect(wanted);
      if (!transfer) {
        Advance(/*arm=*/false);
        transfer = connection_->sender().NextDirect(wanted);
      }
    }
    if (!transfer) break;
    Gather(*transfer, cursor, buffer, inline_bytes);
    transfer->remote_address = entry->buffer.address + (offset + done - entry->offset);
    transfer->rkey = entry->buffer.rkey;
    const MutexLock lock(lock_);
    connection_->PostDirect(*transfer, inline_bytes);
    done += transfer->length;
  }
  return done;
}

ErrnoOr<std::size_t> StreamSocket::WriteDirect(std::span<const std::byte> from, off_t offset,
                                               int flags) {
  if (const auto connected = AwaitConnected(flags); !connected) return Fail(connected.error());
  std::size_t done = 0;
  while (done < from.size()) {
    const uint64_t at = static_cast<uint64_t>(offset) + done;
    const auto sent = DirectBurst(from.subspan(done), at);
    if (!sent && done == 0) return Fail(sent.error());
    if (!sent) break;
    done += *sent;
    {
      const MutexLock lock(lock_);
      if (done == from.size() || !connection_->FindIomap(at + *sent)) break;
    }
    const auto waited = Await(flags, [this](bool arm) {
      const MutexLock lock(lock_);
      Advance(arm);
      return connection_->sender().can_send_direct() || !connection_->can_write();
    });
    if (!waited && done == 0) return Fail(waited.error());
    if (!waited) break;
  }
  return done;
}

}  // namespace verbena::rsockets
