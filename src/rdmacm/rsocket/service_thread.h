#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/event_file.h"
#include "base/file_descriptor.h"
#include "base/time.h"
#include "rdmacm/rsocket/errno.h"

namespace verbena::rsockets {

// A client has files that the service thread reads. That thread makes the calls.
class ServiceClient {
 public:
  virtual ~ServiceClient() = default;
  virtual void OnReadable(int fd) = 0;
  virtual void OnTime() = 0;
};

// The thread that works for sockets while no call of the program does: it takes events of the
// connection manager, so that connections are made and ended in the background, reads the UDP
// sockets of datagram sockets, and sends keepalives. It starts with the first file, runs until the
// process exits, and sleeps while nothing happens.
//
// Any thread. The thread holds a reference to a client only during a call.
class ServiceThread {
 public:
  // Throws std::system_error if the system refuses a file.
  ServiceThread();
  // REQUIRES: the thread was never started, because it never ends.
  ~ServiceThread() = default;

  // Calls OnReadable when `fd` is readable. Starts the thread: throws std::system_error if the
  // system refuses it.
  [[nodiscard]] ErrnoOr<void> Add(int fd, std::weak_ptr<ServiceClient> client);
  // After this returns, no call for `fd` is running, unless the caller is in such a call.
  void Remove(int fd);
  // Whether the thread waits for `fd` to become readable.
  void SetInterest(int fd, bool wanted) const;
  // Calls OnTime of the client of `fd` once, at `time`; Time::Never() cancels it.
  void SetTimer(int fd, Time time);

 private:
  struct Entry {
    std::weak_ptr<ServiceClient> client;
    Time timer = Time::Never();
  };

  void Run();
  void Serve(int fd);
  void ServeTimers();
  [[nodiscard]] int TimeoutMs();
  // The client of `fd`; its call is marked as running until End.
  [[nodiscard]] std::shared_ptr<ServiceClient> Begin(int fd);
  void End();

  const FileDescriptor epoll_;
  const EventFile wake_;  // timers have changed
  std::mutex lock_;       // guards what follows
  std::condition_variable call_ended_;
  std::map<int, Entry> entries_;
  std::set<std::pair<Time, int>> timers_;
  int called_fd_ = FileDescriptor::kNone;  // whose client is called now
  std::thread thread_;
};

}  // namespace verbena::rsockets
