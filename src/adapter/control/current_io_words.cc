#include "adapter/control/current_io_words.h"

#include <chrono>
#include <utility>

namespace verbena::adapter {

using memory::CurrentIo;

ErrorOr<uint32_t> CurrentIoWords::Take() {
  const std::lock_guard lock(mutex_);
  if (!page_) {
    auto made = memory::CurrentIoPage::Create();
    if (!made) return Fail(made.error());
    page_ = std::move(*made);
  }
  if (given_.empty() && unused_ == memory::CurrentIoPage::kWords) {
    return Fail(Error{ErrorCode::kLimit, "the limit of " + std::to_string(unused_) +
                                             " regions with a current-I/O word is reached"});
  }
  given_.reserve(unused_ + 1);  // so that to give one back needs no memory
  uint32_t index = unused_;
  if (given_.empty()) {
    ++unused_;
  } else {
    index = given_.back();
    given_.pop_back();
  }
  page_->word(index).store(0);
  return index;
}

void CurrentIoWords::Give(uint32_t index) {
  Resume(index);
  const std::lock_guard lock(mutex_);
  given_.push_back(index);
}

int CurrentIoWords::fd() {
  const std::lock_guard lock(mutex_);
  return page_ ? page_->fd() : -1;
}

bool CurrentIoWords::Wait(uint32_t index, Duration patience,
                          const std::function<void()>& on_interest) {
  CurrentIo io(word(index));
  if (io.RegisterInterest() == CurrentIo::InterestResult::kResumed) return true;
  on_interest();
  std::unique_lock lock(mutex_);
  return resumed_.wait_for(lock, std::chrono::nanoseconds(patience.nanoseconds()),
                           [&] { return !io.IsQuiesced(); });
}

// The callback is there before interest is: a resume that comes in between finds it.
bool CurrentIoWords::CallWhenResumed(uint32_t index, std::function<void()> then,
                                     const std::function<void()>& on_interest) {
  std::unordered_multimap<uint32_t, std::function<void()>>::iterator at;
  {
    const std::lock_guard lock(mutex_);
    if (!CurrentIo(word(index)).IsQuiesced()) return false;
    at = callbacks_.emplace(index, std::move(then));
    if (CurrentIo(word(index)).RegisterInterest() == CurrentIo::InterestResult::kResumed) {
      callbacks_.erase(at);
      return false;
    }
  }
  on_interest();
  return true;
}

void CurrentIoWords::Resume(uint32_t index) {
  std::vector<std::function<void()>> waiting;
  {
    // Under the lock, so that a thread that looks before it sleeps is woken.
    const std::lock_guard lock(mutex_);
    static_cast<void>(CurrentIo(page_->word(index)).Resume());
    waiting = Waiting(index);
  }
  resumed_.notify_all();
  for (const auto& call : waiting) call();
}

std::vector<std::function<void()>> CurrentIoWords::Waiting(uint32_t index) {
  std::vector<std::function<void()>> waiting;
  const auto [first, last] = callbacks_.equal_range(index);
  for (auto at = first; at != last; ++at) waiting.push_back(std::move(at->second));
  callbacks_.erase(first, last);
  return waiting;
}

}  // namespace verbena::adapter
