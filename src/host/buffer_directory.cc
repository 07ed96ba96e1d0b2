#include "host/buffer_directory.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"

namespace verbena::host {
namespace {

Error NotFound(std::string text) {
  return {.code = ErrorCode::kInvalid, .text = std::move(text), .os_error = ENOENT};
}

Error TakenError(const SharedBufferEntry& other, const char* what) {
  return {.code = ErrorCode::kInUse,
          .text = std::string(what) + " belong to buffer '" + other.buffer.name + "' of process " +
                  std::to_string(other.owner.pid)};
}

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

bool IsBufferName(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kBufferNameMax && std::ranges::all_of(name, is_good);
}

bool IsBufferContact(std::string_view contact) {
  return contact.size() <= kBufferContactMax && std::ranges::all_of(contact, IsPrintable);
}

void BufferDirectory::AddClient(ClientId client, BufferOwner process, bool sees_all) {
  const bool is_new =
      clients_.try_emplace(client, Client{.process = process, .sees_all = sees_all}).second;
  CHECK(is_new);
}

void BufferDirectory::RemoveClient(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  for (const BufferNumber number : found->second.found) {
    Buffer& buffer = buffers_.at(number);
    buffer.entry.users -= buffer.users.at(client);
    buffer.users.erase(client);
  }
  found->second.found.clear();
  while (!found->second.published.empty()) Remove(*found->second.published.begin());
  clients_.erase(found);
}

ErrorOr<void> BufferDirectory::Check(const SharedBuffer& buffer, const SharedFile& file) const {
  if (!IsBufferName(buffer.name)) {
    return Fail(InvalidError("the name of a buffer has 1 to 63 letters, digits, '.', '_' and '-'"));
  }
  if (!IsBufferContact(buffer.contact)) {
    return Fail(InvalidError("the contact of a buffer has up to 63 printable characters"));
  }
  if (!Access::kRemote.Has(buffer.access) || buffer.access == Access::kNone) {
    return Fail(InvalidError("a shared buffer has remote rights, and no others"));
  }
  if (buffer.length == 0 || buffer.length > file.bytes ||
      buffer.offset > file.bytes - buffer.length) {
    return Fail(InvalidError("the buffer is not within its file"));
  }
  if (!file.Allows(buffer.access)) {
    return Fail(InvalidError("the file is open for reading only, and its R_Key allows writes"));
  }
  return {};
}

// No two processes have the same bytes, or the same name. One process may publish bytes twice, with
// different rights.
ErrorOr<void> BufferDirectory::CheckOwners(const Client& client, const SharedBuffer& buffer,
                                           const SharedFile& file) const {
  if (const auto named = names_.find(buffer.name); named != names_.end()) {
    const BufferOwner owner = buffers_.at(named->second).entry.owner;
    return Fail(Error{
        .code = ErrorCode::kInUse,
        .text = "process " + std::to_string(owner.pid) + " has a buffer '" + buffer.name + "'"});
  }
  const auto others = files_.find(file.identity);
  if (others == files_.end()) return {};
  const Interval bytes{buffer.offset, buffer.offset + buffer.length - 1};
  for (const BufferNumber number : others->second) {
    const Buffer& other = buffers_.at(number);
    if (other.entry.owner != client.process && other.bytes().Overlaps(bytes)) {
      return Fail(TakenError(other.entry, "these bytes"));
    }
  }
  return {};
}

ErrorOr<BufferNumber> BufferDirectory::Publish(ClientId client, const SharedBuffer& buffer,
                                               const SharedFile& file) {
  Client& owner = clients_.at(client);
  if (const auto checked = Check(buffer, file); !checked) return Fail(checked.error());
  if (const auto checked = CheckOwners(owner, buffer, file); !checked) return Fail(checked.error());
  if (buffers_.size() >= options_.buffers_max) {
    return Fail(LimitError(options_.buffers_max, "shared buffers", "BufferOptions::buffers_max"));
  }
  if (owner.published.size() >= options_.client_buffers_max) {
    return Fail(LimitError(options_.client_buffers_max, "shared buffers of a process",
                           "BufferOptions::client_buffers_max"));
  }
  const BufferNumber number(++last_number_);
  buffers_.emplace(
      number,
      Buffer{.entry = {.number = number, .buffer = buffer, .owner = owner.process, .users = 0},
             .file = file.identity,
             .publisher = client});
  names_.emplace(buffer.name, number);
  files_[file.identity].insert(number);
  owner.published.insert(number);
  return number;
}

bool BufferDirectory::Withdraw(ClientId client, BufferNumber number) {
  if (!clients_.at(client).published.contains(number)) return false;
  Remove(number);
  return true;
}

void BufferDirectory::Remove(BufferNumber number) {
  const auto found = buffers_.find(number);
  const Buffer& buffer = found->second;
  for (const auto& [user, handles] : buffer.users) {
    clients_.at(user).found.erase(number);
    ended_.push_back({user, number});
  }
  clients_.at(buffer.publisher).published.erase(number);
  names_.erase(buffer.entry.buffer.name);
  const auto file = files_.find(buffer.file);
  file->second.erase(number);
  if (file->second.empty()) files_.erase(file);
  buffers_.erase(found);
}

// A name that the client may not find is a name that there is not: it learns nothing of others.
ErrorOr<SharedBufferEntry> BufferDirectory::FindByName(ClientId client, const std::string& name,
                                                       Access access) {
  const auto found = names_.find(name);
  const auto no_such = [&] {
    return Fail(NotFound(IsBufferName(name) ? "there is no buffer '" + name + "'"
                                            : "this is no name of a buffer"));
  };
  if (found == names_.end()) return no_such();
  Buffer& buffer = buffers_.at(found->second);
  const uint32_t uid = clients_.at(client).process.uid;
  const bool is_for_all = buffer.entry.buffer.audience == BufferAudience::kAllUsers;
  if (uid != 0 && uid != buffer.entry.owner.uid && !is_for_all) return no_such();
  if (!buffer.entry.buffer.access.Has(access)) {
    return Fail(Error{.code = ErrorCode::kNotPermitted,
                      .text = "the R_Key of buffer '" + name + "' lacks a right"});
  }
  return Use(client, buffer);
}

ErrorOr<SharedBufferEntry> BufferDirectory::FindInFile(ClientId client, const SharedFile& file,
                                                       uint64_t offset, uint64_t length,
                                                       Access access) {
  const auto found = files_.find(file.identity);
  if (length == 0 || offset > UINT64_MAX - length) return Fail(InvalidError("no bytes"));
  const Interval bytes{offset, offset + length - 1};
  bool is_covered = false;
  if (found != files_.end()) {
    for (const BufferNumber number : found->second) {
      Buffer& buffer = buffers_.at(number);
      const Interval its = buffer.bytes();
      if (!its.Contains(bytes.first) || !its.Contains(bytes.last)) continue;
      is_covered = true;
      const Access rights = buffer.entry.buffer.access;
      if (rights.Has(access) && file.Allows(rights)) return Use(client, buffer);
    }
  }
  if (!is_covered) return Fail(NotFound("no process has published these bytes"));
  return Fail(Error{.code = ErrorCode::kNotPermitted,
                    .text = "the R_Key of these bytes lacks a right, or gives more than the "
                            "descriptor does"});
}

ErrorOr<SharedBufferEntry> BufferDirectory::Use(ClientId client, Buffer& buffer) {
  Client& user = clients_.at(client);
  const BufferNumber number = buffer.entry.number;
  if (!user.found.contains(number) && user.found.size() >= options_.client_found_max) {
    return Fail(LimitError(options_.client_found_max, "buffers that a process has found",
                           "BufferOptions::client_found_max"));
  }
  user.found.insert(number);
  ++buffer.users[client];
  ++buffer.entry.users;
  return buffer.entry;
}

bool BufferDirectory::Release(ClientId client, BufferNumber number) {
  Client& user = clients_.at(client);
  if (!user.found.contains(number)) return false;
  Buffer& buffer = buffers_.at(number);
  --buffer.entry.users;
  if (--buffer.users.at(client) == 0) {
    buffer.users.erase(client);
    user.found.erase(number);
  }
  return true;
}

std::vector<SharedBufferEntry> BufferDirectory::List(ClientId client, BufferNumber after,
                                                     size_t max) const {
  const Client& reader = clients_.at(client);
  std::vector<SharedBufferEntry> list;
  for (auto it = buffers_.upper_bound(after); it != buffers_.end() && list.size() < max; ++it) {
    const SharedBufferEntry& entry = it->second.entry;
    const bool is_seen = reader.sees_all || entry.owner.uid == reader.process.uid ||
                         entry.buffer.audience == BufferAudience::kAllUsers;
    if (is_seen) list.push_back(entry);
  }
  return list;
}

bool BufferDirectory::IsConsistent() const {
  size_t published = 0, uses = 0, in_files = 0;
  for (const auto& [id, client] : clients_) {
    published += client.published.size();
    for (const BufferNumber number : client.found) {
      const auto found = buffers_.find(number);
      if (found == buffers_.end() || !found->second.users.contains(id)) return false;
      ++uses;
    }
  }
  for (const auto& [identity, numbers] : files_) in_files += numbers.size();
  for (const auto& [number, buffer] : buffers_) {
    uint64_t handles = 0;
    for (const auto& [user, count] : buffer.users) handles += count;
    uses -= buffer.users.size();
    if (handles != buffer.entry.users || !clients_.contains(buffer.publisher)) return false;
  }
  return published == buffers_.size() && in_files == buffers_.size() &&
         names_.size() == buffers_.size() && uses == 0;
}

}  // namespace verbena::host
