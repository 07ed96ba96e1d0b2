#include "host/grant_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>

#include "base/file_descriptor.h"
#include "host/protocol.h"

namespace verbena::host {
namespace {

constexpr size_t kRecordMax = size_t{4} << 20;

// Takes a number, and the blank behind it.
template <class T>
bool TakeNumber(std::string_view& line, T& value) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()) + 1);
  return true;
}

std::optional<RecordedGrant> ParseLine(std::string_view line) {
  RecordedGrant grant;
  const bool is_good = TakeNumber(line, grant.pid) && TakeNumber(line, grant.started) &&
                       TakeNumber(line, grant.bytes) && TakeNumber(line, grant.limits.min) &&
                       TakeNumber(line, grant.limits.max) && TakeNumber(line, grant.limits.weight);
  if (!is_good || grant.pid <= 0 || !IsGuestName(line)) return std::nullopt;
  grant.name = line;
  return grant;
}

std::string ReadFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::string text;
  std::array<char, 4096> piece;
  while (text.size() < kRecordMax) {
    const ssize_t length = read(file.get(), piece.data(), piece.size());
    if (length <= 0) break;
    text.append(piece.data(), static_cast<size_t>(length));
  }
  return text;
}

}  // namespace

std::string ToText(const std::vector<RecordedGrant>& grants) {
  std::string text;
  for (const RecordedGrant& grant : grants) {
    text += std::to_string(grant.pid) + ' ' + std::to_string(grant.started) + ' ' +
            std::to_string(grant.bytes) + ' ' + std::to_string(grant.limits.min) + ' ' +
            std::to_string(grant.limits.max) + ' ' + std::to_string(grant.limits.weight) + ' ' +
            grant.name + '\n';
  }
  return text;
}

std::vector<RecordedGrant> ParseGrants(std::string_view text) {
  std::vector<RecordedGrant> grants;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    if (auto grant = ParseLine(text.substr(0, end))) grants.push_back(std::move(*grant));
    text.remove_prefix(end + 1);
  }
  return grants;
}

ErrorOr<void> WriteRecord(const std::string& path, const std::vector<RecordedGrant>& grants) {
  const std::string text = ToText(grants), next = path + ".new";
  const FileDescriptor file(
      open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return Fail(SystemError(next));
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Fail(SystemError(next));
  }
  if (std::rename(next.c_str(), path.c_str()) != 0) return Fail(SystemError(path));
  return {};
}

std::vector<RecordedGrant> ReadRecord(const std::string& path) {
  return ParseGrants(ReadFile(path));
}

std::optional<uint64_t> StartOf(pid_t pid) {
  constexpr int kFieldsBetween = 19;  // the name is the 2nd, in parentheses; the start is the 22nd
  const std::string text = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  std::string_view fields = std::string_view(text).substr(name_end + 2);
  for (int i = 0; i < kFieldsBetween; ++i) {
    const size_t blank = fields.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    fields.remove_prefix(blank + 1);
  }
  uint64_t start = 0;
  return TakeNumber(fields, start) ? std::optional(start) : std::nullopt;
}

}  // namespace verbena::host
