#include "host/buffer_service.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace verbena::host {
namespace {

// Rows of one answer: a client that does not read them holds no more than these here.
constexpr size_t kRowsMax = 128;

}  // namespace

void BufferService::Attach(ClientId client, BufferOwner process, bool is_operator) {
  directory_.AddClient(client, process, is_operator);
  outgoing_.push_back({client, BufferWelcomeMessage{.version = kProtocolVersion}});
}

bool BufferService::Handle(ClientId client, BrokerChannel::Received received) {
  const BrokerMessage& message = received.message;
  if (const auto* const publish = std::get_if<BufferPublishMessage>(&message)) {
    Publish(client, *publish, std::move(received.file));
  } else if (const auto* const find = std::get_if<BufferFindMessage>(&message)) {
    Find(client, *find, received.file);
  } else if (const auto* const release = std::get_if<BufferReleaseMessage>(&message)) {
    // It may have ended, and the client does not know yet.
    static_cast<void>(directory_.Release(client, release->number));
  } else if (const auto* const withdraw = std::get_if<BufferWithdrawMessage>(&message)) {
    return Withdraw(client, withdraw->number);
  } else if (const auto* const list = std::get_if<BufferListMessage>(&message)) {
    List(client, *list);
  } else {
    return false;
  }
  return true;
}

void BufferService::Answer(ClientId client, uint64_t request, const Error& error) {
  outgoing_.push_back(
      {client, BufferFailedMessage{.request = request,
                                   .code = error.code,
                                   .os_error = static_cast<uint32_t>(error.os_error),
                                   .why = error.text}});
}

bool BufferService::HasRoomForFile(const FileKey& key) const {
  if (files_.contains(key)) return true;
  const auto count = std::ranges::count_if(
      files_, [&](const auto& held) { return held.first.client == key.client; });
  return static_cast<size_t>(count) < options_.client_files_max;
}

void BufferService::Publish(ClientId client, const BufferPublishMessage& message,
                            FileDescriptor file) {
  const auto inspected = InspectSharedFile(file.get());
  if (!inspected) return Answer(client, message.request, inspected.error());
  const FileKey key{client, inspected->identity, inspected->is_writable};
  if (!HasRoomForFile(key)) {
    return Answer(client, message.request,
                  LimitError(options_.client_files_max, "files of a process",
                             "BufferOptions::client_files_max"));
  }
  const auto number = directory_.Publish(client, message.buffer, *inspected);
  if (!number) return Answer(client, message.request, number.error());
  HeldFile& held = files_[key];
  if (held.file == nullptr) held.file = std::make_shared<const FileDescriptor>(std::move(file));
  held.buffers.insert(*number);
  file_of_.emplace(*number, key);
  outgoing_.push_back({client, BufferPublishedMessage{message.request, *number}});
}

bool BufferService::Withdraw(ClientId client, BufferNumber number) {
  if (!directory_.Withdraw(client, number)) return false;
  const auto found = file_of_.find(number);
  const auto held = files_.find(found->second);
  held->second.buffers.erase(number);
  if (held->second.buffers.empty()) files_.erase(held);
  file_of_.erase(found);
  ReportEnded();
  return true;
}

void BufferService::Find(ClientId client, const BufferFindMessage& message,
                         const FileDescriptor& file) {
  const bool is_named = !message.name.empty();
  const auto found = [&]() -> ErrorOr<SharedBufferEntry> {
    if (is_named) return directory_.FindByName(client, message.name, message.access);
    const auto inspected = InspectSharedFile(file.get());
    if (!inspected) return Fail(inspected.error());
    return directory_.FindInFile(client, *inspected, message.offset, message.length,
                                 message.access);
  }();
  if (!found) return Answer(client, message.request, found.error());
  Outgoing answer{client, BufferFoundMessage{message.request, *found}};
  if (is_named) answer.file = files_.at(file_of_.at(found->number)).file;
  outgoing_.push_back(std::move(answer));
}

void BufferService::List(ClientId client, const BufferListMessage& message) {
  const auto rows = directory_.List(client, message.after, kRowsMax);
  for (const SharedBufferEntry& row : rows) {
    outgoing_.push_back({client, BufferRowMessage{message.request, row}});
  }
  outgoing_.push_back({client, BufferRowsMessage{message.request, rows.size() < kRowsMax}});
}

void BufferService::ReportEnded() {
  for (const auto& [client, number] : directory_.TakeEnded()) {
    outgoing_.push_back({client, BufferEndedMessage{number}});
  }
}

void BufferService::OnGone(ClientId client) {
  if (!directory_.has_client(client)) return;
  directory_.RemoveClient(client);
  const auto first = files_.lower_bound(FileKey{.client = client});
  auto last = first;
  for (; last != files_.end() && last->first.client == client; ++last) {
    for (const BufferNumber number : last->second.buffers) file_of_.erase(number);
  }
  files_.erase(first, last);
  ReportEnded();
}

}  // namespace verbena::host
