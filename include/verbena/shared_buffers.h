#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verbena/access.h"
#include "verbena/error.h"
#include "verbena/shared_buffer.h"

namespace verbena {

namespace host {
class BufferClient;
}

// A buffer that this process has published. It is withdrawn by the destructor: destroy it before
// the region whose R_Key it names.
class PublishedBuffer {
 public:
  PublishedBuffer() = default;
  PublishedBuffer(PublishedBuffer&& from) noexcept { *this = std::move(from); }
  PublishedBuffer& operator=(PublishedBuffer&& from) noexcept {
    std::swap(client_, from.client_);
    std::swap(id_, from.id_);
    return *this;
  }
  ~PublishedBuffer() { Withdraw(); }

  [[nodiscard]] explicit operator bool() const { return client_ != nullptr; }
  // Whether the broker has it in its list: false while there is no broker, and for good if the next
  // broker has refused it.
  [[nodiscard]] bool is_listed() const;
  // Not found from now on. Processes that have found it hear of it, but do not have to agree.
  void Withdraw();

 private:
  friend class SharedBuffers;

  std::shared_ptr<host::BufferClient> client_;
  uint64_t id_ = 0;
};

// A buffer of another process.
class FoundBuffer {
 public:
  FoundBuffer() = default;
  FoundBuffer(FoundBuffer&& from) noexcept { *this = std::move(from); }
  FoundBuffer& operator=(FoundBuffer&& from) noexcept {
    std::swap(client_, from.client_);
    std::swap(entry_, from.entry_);
    std::swap(file_, from.file_);
    std::swap(has_ended_, from.has_ended_);
    return *this;
  }
  ~FoundBuffer() { Release(); }

  [[nodiscard]] explicit operator bool() const { return client_ != nullptr; }
  // False once its owner has withdrawn it or has ended, or the broker has ended; then find it
  // again. One load: ask before each use. A peer that comes too late all the same is refused by the
  // owner's adapter, because an R_Key that has ended is not used again.
  [[nodiscard]] bool is_current() const {
    return has_ended_ != nullptr && !has_ended_->load(std::memory_order_acquire);
  }
  [[nodiscard]] const SharedBuffer& buffer() const { return entry_.buffer; }
  [[nodiscard]] const BufferOwner& owner() const { return entry_.owner; }
  // Its shared memory, to be mapped: of a buffer that was found by its name; else -1. Closed by the
  // destructor.
  [[nodiscard]] int file() const { return file_; }

  void Release();

 private:
  friend class SharedBuffers;

  std::shared_ptr<host::BufferClient> client_;
  SharedBufferEntry entry_ = {};
  int file_ = -1;
  std::shared_ptr<const std::atomic<bool>> has_ended_;
};

// The list of buffers that the processes of this machine have registered in shared memory, kept by
// their broker (verbena broker): memory is registered, and pinned where the adapter pins, by one
// process, and all processes that share it can name it to peers. The peers' requests go to the
// adapter of the owner.
//
//   owner    registers a memfd, and publishes it: name, R_Key, where peers reach the owner
//   worker   finds it, writes into it, and sends a peer the address and R_Key
//   peer     reads, over its connection with the owner
//
// A buffer is found by its name, by processes of its owner's user; or by its file, by processes
// that have that open, with the R_Key giving no right that the descriptor does not give. It ends
// with the process that published it, however that ends. No two processes publish the same bytes.
// See docs/registration-cache.md.
//
// Thread rule: any thread. In a child of a fork, calls fail with kForked.
class SharedBuffers {
 public:
  // `broker`: its socket; empty: the one that verbena broker has without --socket.
  [[nodiscard]] static ErrorOr<SharedBuffers> Open(const std::string& broker = {});
  SharedBuffers() = default;

  [[nodiscard]] explicit operator bool() const { return client_ != nullptr; }

  // `file`: a memfd, or what shm_open returns; it may be closed afterwards. Other processes get it
  // for reading only if the R_Key does not allow writes. Fails with kInUse if another process has
  // the name, or published these bytes.
  [[nodiscard]] ErrorOr<PublishedBuffer> Publish(const SharedBuffer& buffer, int file);

  // Both fail with ENOENT in Error::os_error if there is none, or none that this process may find.
  [[nodiscard]] ErrorOr<FoundBuffer> Find(const std::string& name, Access access);
  // The buffer that has these bytes of the file.
  [[nodiscard]] ErrorOr<FoundBuffer> Find(int file, uint64_t offset, uint64_t length,
                                          Access access);
  // All that this process may find by name; for root and the broker's user, all.
  [[nodiscard]] ErrorOr<std::vector<SharedBufferEntry>> List() const;

 private:
  [[nodiscard]] FoundBuffer Wrap(SharedBufferEntry entry, int file,
                                 std::shared_ptr<const std::atomic<bool>> has_ended) const noexcept;
  explicit SharedBuffers(std::shared_ptr<host::BufferClient> client) : client_(std::move(client)) {}

  std::shared_ptr<host::BufferClient> client_;
};

}  // namespace verbena
