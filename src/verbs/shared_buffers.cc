#include "verbena/shared_buffers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/file_descriptor.h"
#include "host/broker_path.h"
#include "host/buffer_client.h"
#include "verbs/thrown.h"

namespace verbena {
namespace {

constexpr Access kWrites = Access::kRemoteWrite | Access::kRemoteAtomic;

// The file as other processes get it: a descriptor with the rights of the R_Key.
ErrorOr<FileDescriptor> FileFor(const SharedBuffer& buffer, int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return Fail(SystemError("the file of a buffer"));
  if (buffer.access.HasAny(kWrites)) {
    FileDescriptor made(fcntl(file, F_DUPFD_CLOEXEC, 0));
    if (!made.is_open()) return Fail(SystemError("the file of a buffer"));
    return made;
  }
  if (buffer.audience == BufferAudience::kAllUsers && (status.st_mode & S_IWOTH) != 0) {
    return Fail(InvalidError(
        "other users could open the file for writing, by its mode: fchmod(file, 0600)"));
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  FileDescriptor made(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!made.is_open()) return Fail(SystemError("cannot open the file of a buffer for reading"));
  return made;
}

// -1 stays -1.
int Duplicate(const FileDescriptor& file) { return fcntl(file.get(), F_DUPFD_CLOEXEC, 0); }

Error EmptyError() { return InvalidError("the list of shared buffers is not open"); }

}  // namespace

ErrorOr<SharedBuffers> SharedBuffers::Open(const std::string& broker) try {
  auto client =
      host::BufferClient::Open({.socket = broker.empty() ? host::DefaultBrokerSocket() : broker});
  if (!client) return Fail(client.error());
  return SharedBuffers(std::move(*client));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<PublishedBuffer> SharedBuffers::Publish(const SharedBuffer& buffer, int file) try {
  if (client_ == nullptr) return Fail(EmptyError());
  auto shown = FileFor(buffer, file);
  if (!shown) return Fail(shown.error());
  const auto id = client_->Publish(buffer, std::move(*shown));
  if (!id) return Fail(id.error());
  PublishedBuffer published;
  published.client_ = client_;
  published.id_ = *id;
  return published;
} catch (...) {
  return Fail(verbs::Thrown());
}

bool PublishedBuffer::is_listed() const { return client_ != nullptr && client_->IsListed(id_); }

void PublishedBuffer::Withdraw() {
  if (const auto client = std::exchange(client_, nullptr)) client->Withdraw(id_);
}

ErrorOr<FoundBuffer> SharedBuffers::Find(const std::string& name, Access access) try {
  if (client_ == nullptr) return Fail(EmptyError());
  if (name.empty()) return Fail(InvalidError("a buffer has a name"));
  auto found = client_->Find(name, access);
  if (!found) return Fail(found.error());
  return Wrap(std::move(found->entry), Duplicate(found->file), std::move(found->has_ended));
} catch (...) {
  return Fail(verbs::Thrown());
}

ErrorOr<FoundBuffer> SharedBuffers::Find(int file, uint64_t offset, uint64_t length,
                                         Access access) try {
  if (client_ == nullptr) return Fail(EmptyError());
  auto found = client_->Find(file, offset, length, access);
  if (!found) return Fail(found.error());
  return Wrap(std::move(found->entry), Duplicate(found->file), std::move(found->has_ended));
} catch (...) {
  return Fail(verbs::Thrown());
}

FoundBuffer SharedBuffers::Wrap(SharedBufferEntry entry, int file,
                                std::shared_ptr<const std::atomic<bool>> has_ended) const noexcept {
  FoundBuffer found;
  found.client_ = client_;
  found.entry_ = std::move(entry);
  found.file_ = file;
  found.has_ended_ = std::move(has_ended);
  return found;
}

void FoundBuffer::Release() {
  if (const auto client = std::exchange(client_, nullptr)) {
    client->Release(entry_.number, has_ended_);
  }
  if (file_ >= 0) close(std::exchange(file_, -1));
  has_ended_ = nullptr;
}

ErrorOr<std::vector<SharedBufferEntry>> SharedBuffers::List() const try {
  if (client_ == nullptr) return Fail(EmptyError());
  return client_->List();
} catch (...) {
  return Fail(verbs::Thrown());
}

}  // namespace verbena
