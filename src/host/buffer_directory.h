#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interval_map.h"
#include "host/shared_file.h"
#include "verbena/shared_buffer.h"

namespace verbena::host {

// The bounds of a broker's list of buffers.
struct BufferOptions {
  size_t buffers_max = 65'536;        // of all processes: about 500 bytes each
  size_t client_buffers_max = 4'096;  // that one process publishes, so that it leaves room
  size_t client_files_max = 64;     // the files of these: one or two descriptors of the broker each
  size_t client_found_max = 4'096;  // that one process has found
};

// The list of the buffers that the processes of a machine have registered in shared memory: which
// process has which bytes of which file, and by which R_Key peers reach them.
//
// An entry belongs to the connection on which it was published, and ends with it; its number means
// nothing on other connections, except on those that have found it. No two processes have the same
// bytes of a file. A process that finds a buffer could touch its bytes anyway: it has the file
// open, or is of a user that the owner has named; and the R_Key gives no right that its descriptor
// does not give.
//
// Decides only: no I/O, no clock, no descriptors. One thread.
class BufferDirectory {
 public:
  using ClientId = uint64_t;  // a connection of the broker

  // A process that has found a buffer which has ended.
  struct Ended {
    ClientId client;
    BufferNumber number;

    friend bool operator==(const Ended&, const Ended&) = default;
  };

  explicit BufferDirectory(const BufferOptions& options) : options_(options) {}

  // `sees_all`: an operator, who may list the buffers of all users.
  void AddClient(ClientId client, BufferOwner process, bool sees_all);
  // Drops all that it has published and found. Does nothing if it is none.
  void RemoveClient(ClientId client);
  [[nodiscard]] bool has_client(ClientId client) const { return clients_.contains(client); }

  [[nodiscard]] ErrorOr<BufferNumber> Publish(ClientId client, const SharedBuffer& buffer,
                                              const SharedFile& file);
  // False if the client has not published it.
  [[nodiscard]] bool Withdraw(ClientId client, BufferNumber number);

  // Fails with ENOENT if there is none that the client may find.
  [[nodiscard]] ErrorOr<SharedBufferEntry> FindByName(ClientId client, const std::string& name,
                                                      Access access);
  // The buffer that covers these bytes of the file.
  [[nodiscard]] ErrorOr<SharedBufferEntry> FindInFile(ClientId client, const SharedFile& file,
                                                      uint64_t offset, uint64_t length,
                                                      Access access);
  // Once for each time that it was found; false if it was not.
  [[nodiscard]] bool Release(ClientId client, BufferNumber number);

  // The next entries after this number that the client may see.
  [[nodiscard]] std::vector<SharedBufferEntry> List(ClientId client, BufferNumber after,
                                                    size_t max) const;
  [[nodiscard]] std::vector<Ended> TakeEnded() { return std::exchange(ended_, {}); }

  [[nodiscard]] size_t size() const { return buffers_.size(); }
  // The connection on which it was published. REQUIRES: it is in the list.
  [[nodiscard]] ClientId publisher(BufferNumber number) const {
    return buffers_.at(number).publisher;
  }
  // Compares the tables with each other.
  [[nodiscard]] bool IsConsistent() const;

 private:
  struct Buffer {
    SharedBufferEntry entry;
    FileIdentity file;
    ClientId publisher = 0;
    std::map<ClientId, uint32_t> users = {};

    [[nodiscard]] Interval bytes() const {
      return {entry.buffer.offset, entry.buffer.offset + entry.buffer.length - 1};
    }
  };
  struct Client {
    BufferOwner process;
    bool sees_all = false;
    std::set<BufferNumber> published = {};
    std::set<BufferNumber> found = {};
  };

  [[nodiscard]] ErrorOr<void> Check(const SharedBuffer& buffer, const SharedFile& file) const;
  [[nodiscard]] ErrorOr<void> CheckOwners(const Client& client, const SharedBuffer& buffer,
                                          const SharedFile& file) const;
  [[nodiscard]] ErrorOr<SharedBufferEntry> Use(ClientId client, Buffer& buffer);
  void Remove(BufferNumber number);

  const BufferOptions options_;
  std::map<BufferNumber, Buffer> buffers_;
  std::map<std::string, BufferNumber> names_;
  std::map<FileIdentity, std::set<BufferNumber>> files_;
  std::map<ClientId, Client> clients_;
  std::vector<Ended> ended_;
  uint64_t last_number_ = 0;
};

// Both go to an operator's terminal.
inline constexpr size_t kBufferNameMax = 63;
inline constexpr size_t kBufferContactMax = 63;
[[nodiscard]] bool IsBufferName(std::string_view name);
[[nodiscard]] bool IsBufferContact(std::string_view contact);

}  // namespace verbena::host
