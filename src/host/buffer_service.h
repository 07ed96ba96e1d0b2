#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "host/buffer_directory.h"
#include "host/channel.h"
#include "host/messages.h"

namespace verbena::host {

// The part of a broker that keeps the list of shared buffers: answers messages by what the
// directory decides, and holds the files.
//
// A file is held as long as a buffer of it is in the list: so its identity is not given to another,
// and its memory lasts until the owner withdraws it or has ended.
//
// One thread, the broker's.
class BufferService {
 public:
  using ClientId = BufferDirectory::ClientId;
  // A message for a client, and the file that goes with it.
  struct Outgoing {
    ClientId client;
    BrokerMessage message;
    std::shared_ptr<const FileDescriptor> file = nullptr;
  };

  explicit BufferService(const BufferOptions& options) : options_(options), directory_(options) {}

  [[nodiscard]] static bool IsFirst(const BrokerMessage& message) {
    return std::holds_alternative<BufferHelloMessage>(message);
  }
  // A connection that has sent the first message.
  void Attach(ClientId client, BufferOwner process, bool is_operator);
  [[nodiscard]] bool has_client(ClientId client) const { return directory_.has_client(client); }
  // False if the connection is to be ended: it says what it has no right to say.
  [[nodiscard]] bool Handle(ClientId client, BrokerChannel::Received received);
  // Of any connection; does nothing if it is no client.
  void OnGone(ClientId client);

  [[nodiscard]] std::vector<Outgoing> TakeOutgoing() { return std::exchange(outgoing_, {}); }
  [[nodiscard]] const BufferDirectory& directory() const { return directory_; }
  [[nodiscard]] size_t file_count() const { return files_.size(); }

 private:
  // A descriptor for each file and mode, however many buffers of it a client has published.
  struct FileKey {
    ClientId client = 0;
    FileIdentity identity = {};
    bool is_writable = false;

    friend auto operator<=>(const FileKey&, const FileKey&) = default;
  };
  struct HeldFile {
    std::shared_ptr<const FileDescriptor> file;
    std::set<BufferNumber> buffers = {};
  };

  void Publish(ClientId client, const BufferPublishMessage& message, FileDescriptor file);
  [[nodiscard]] bool Withdraw(ClientId client, BufferNumber number);
  void Find(ClientId client, const BufferFindMessage& message, const FileDescriptor& file);
  void List(ClientId client, const BufferListMessage& message);
  void Answer(ClientId client, uint64_t request, const Error& error);
  void ReportEnded();
  [[nodiscard]] bool HasRoomForFile(const FileKey& key) const;

  const BufferOptions options_;
  BufferDirectory directory_;
  std::map<FileKey, HeldFile> files_;
  std::map<BufferNumber, FileKey> file_of_;
  std::vector<Outgoing> outgoing_;
};

}  // namespace verbena::host
