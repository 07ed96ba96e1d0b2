#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/event_file.h"
#include "base/time.h"
#include "host/channel.h"
#include "verbena/shared_buffer.h"

namespace verbena::host {

struct BufferClientOptions {
  std::string socket;                     // of the broker
  Duration answer_patience = Seconds(5);  // a broker that takes longer does not answer
  Duration retry_min = Milliseconds(20);  // the first and the longest pause before the broker
  Duration retry_max = Seconds(1);        // is called again
};

// The side of a process in the broker's list of shared buffers (buffer_directory.h).
//
// A thread reads what the broker sends, so that the end of a buffer is known without a system call.
// If the broker ends, what was found ends with it, because nothing reports its end any more; what
// was published is published again at the next broker.
//
// Any thread. In a child of a fork every call fails, and nothing is sent: the socket is the
// parent's.
class BufferClient {
 public:
  // A buffer that this process publishes: of this object, and the same at each broker.
  using PublicationId = uint64_t;
  using EndFlag = std::shared_ptr<const std::atomic<bool>>;
  struct Found {
    SharedBufferEntry entry;
    FileDescriptor file;  // none if it was found by its file
    EndFlag has_ended;
  };

  [[nodiscard]] static ErrorOr<std::shared_ptr<BufferClient>> Open(
      const BufferClientOptions& options);
  BufferClient(const BufferClient&) = delete;
  BufferClient& operator=(const BufferClient&) = delete;
  ~BufferClient();

  [[nodiscard]] ErrorOr<PublicationId> Publish(const SharedBuffer& buffer, FileDescriptor file);
  void Withdraw(PublicationId id) noexcept;
  // Whether a broker has it in its list now.
  [[nodiscard]] bool IsListed(PublicationId id);

  [[nodiscard]] ErrorOr<Found> Find(const std::string& name, Access access);
  [[nodiscard]] ErrorOr<Found> Find(int file, uint64_t offset, uint64_t length, Access access);
  // Once for each Find.
  void Release(BufferNumber number, const EndFlag& has_ended) noexcept;

  [[nodiscard]] ErrorOr<std::vector<SharedBufferEntry>> List();

 private:
  struct Publication {
    SharedBuffer buffer;
    FileDescriptor file;
    std::optional<BufferNumber> number = {};  // while a broker has it in its list
  };
  struct FoundBuffer {
    std::shared_ptr<std::atomic<bool>> has_ended;
    uint32_t handles = 0;
  };
  // What a call waits for.
  struct Answer {
    std::optional<ErrorOr<void>> outcome;
    std::optional<Found> found;
    std::vector<SharedBufferEntry> rows;
    bool is_all = true;
  };
  using Lock = std::unique_lock<std::mutex>;

  BufferClient(const BufferClientOptions& options, EventFile stop);

  // Connects with the broker: hello and welcome.
  [[nodiscard]] ErrorOr<BrokerChannel> Connect() const;
  // Sends a request, and waits for its answer. `publication`: what is published.
  template <class Message>
  [[nodiscard]] ErrorOr<Answer> Call(Message message, int file,
                                     std::optional<PublicationId> publication = {});
  [[nodiscard]] bool is_child() const;

  // Under the mutex.
  [[nodiscard]] bool Send(const BrokerMessage& message, int file = -1);
  // What needs no answer. Without memory for it the connection ends, and with it what was agreed.
  void SendOrLose(const BrokerMessage& message) noexcept;
  void Handle(BrokerChannel::Received received);
  void HandleFound(const BufferFoundMessage& message, FileDescriptor file);
  void HandlePublished(const BufferPublishedMessage& message);
  void HandleFailed(const BufferFailedMessage& message);
  void Finish(uint64_t request, ErrorOr<void> outcome);
  void Lose() noexcept;
  void PublishAgain();

  // Of the thread.
  void Run();
  void Step();
  void Wait(int fd, Duration patience);

  const BufferClientOptions options_;
  const EventFile stop_;
  const pid_t process_;
  std::mutex mutex_;
  std::condition_variable answered_;
  // Guarded by the mutex.
  std::optional<BrokerChannel> channel_;
  uint64_t losses_ = 0;                           // connections that have ended
  std::map<uint64_t, Answer> answers_;            // by request
  std::map<uint64_t, PublicationId> publishing_;  // likewise
  std::map<PublicationId, Publication> publications_;
  std::map<BufferNumber, FoundBuffer> found_;
  uint64_t last_request_ = 0;
  PublicationId last_publication_ = 0;
  // Of the thread.
  bool is_stopping_ = false;
  Time retry_at_;
  Duration retry_pause_;
  std::thread thread_;
};

}  // namespace verbena::host
