#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace verbena::host {

// The files of a guest's memory, as the broker has them: to measure what is in memory, and to take
// what the guest does not give up. The broker never maps them, so whatever the guest does to them
// is no fault for the broker.
//
// Owns its descriptors. One thread.
class MemoryFiles {
 public:
  // Refuses what is no memory file, or cannot be punched, and more than `max`.
  [[nodiscard]] ErrorOr<void> Add(uint32_t number, FileDescriptor file, uint64_t bytes, size_t max);
  void Remove(uint32_t number) { files_.erase(number); }

  [[nodiscard]] size_t count() const { return files_.size(); }
  // What they were declared to hold.
  [[nodiscard]] uint64_t bytes() const;
  // What is in memory of them, as the kernel counts.
  [[nodiscard]] uint64_t resident() const;

  // Takes at least so many bytes, or all: their contents are lost. Returns how many it took.
  uint64_t Punch(uint64_t bytes) const;
  // For good: the files are empty then, and stay so.
  void TakeAll();

 private:
  struct File {
    FileDescriptor file;
    uint64_t bytes = 0;
  };
  std::map<uint32_t, File> files_;
};

}  // namespace verbena::host
