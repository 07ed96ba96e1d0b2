#pragma once

#include <cstdint>

namespace verbena {

// Hears of memory that the program gives up. The calls come from the threads that read the events,
// for which the program's thread waits in munmap or madvise with any lock held: a listener neither
// allocates, nor takes a lock, nor waits. Several threads may call at a time.
class MemoryListener {
 public:
  // Before the system is asked for an event, and after all that it reported was passed on. Between
  // the two, the program's thread may go on although the listener has not heard of its event yet.
  virtual void OnReading() = 0;
  virtual void OnRead() = 0;
  // The bytes from `first` to `last`, both included, are gone or about to go.
  virtual void OnGivenUp(uint64_t first, uint64_t last) = 0;

 protected:
  ~MemoryListener() = default;
};

// Reports munmap, mremap and madvise (DONTNEED, FREE, REMOVE) of memory that is watched. A process
// can watch a page with one userfaultfd only, so all of its listeners share the source that has it.
//
// Thread rule: any thread, but under no lock that a thread in munmap may hold.
class MemoryEvents {
 public:
  virtual ~MemoryEvents() = default;

  // Starts to watch these bytes; false if that is not possible. What is watched stays so.
  [[nodiscard]] virtual bool Watch(uint64_t address, uint64_t length) = 0;
  // Whether an event may be there that is not being read yet. A munmap makes its addresses free
  // before it is reported, so another thread can map memory there, and use it, while no listener
  // has heard of anything. After a call that returned false, listeners have heard, by OnReading at
  // least, of every change that took effect before it.
  [[nodiscard]] virtual bool IsPending() const { return false; }
  // Reads what is pending, if anything, in place of the thread that does otherwise.
  virtual void ReadPending() {}
  // False if there are too many listeners. After Remove has returned, no call is made any more.
  [[nodiscard]] virtual bool Add(MemoryListener& listener) = 0;
  virtual void Remove(MemoryListener& listener) = 0;
};

}  // namespace verbena
