// A tour of the memory core: which accesses are allowed, and where the bytes are.

#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/check.h"
#include "memory/copy/copier.h"
#include "memory/copy/signal_guard.h"
#include "memory/memory_core.h"

namespace {

using namespace verbena;          // NOLINT(google-build-using-namespace): an example is a user
using namespace verbena::memory;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kPage = 4096;

void Title(const char* text) { std::printf("\n%s\n", text); }

// A consumer with a queue pair, and a buffer that it exposes to a peer.
class Tour {
 public:
  explicit Tour(std::byte* buffer) : buffer_(buffer) {
    pd_ = core_.domains.Allocate(core_.consumers.Open({}).value()).value();
    peer_ = {pd_, QpNumber(17)};
  }

  void ARegion() {
    Title("1. A region: memory that the adapter may access");
    region_ = Register(buffer_, kBufferBytes);
    std::printf("   registered 1 MiB: L_Key %08x, R_Key %08x; no page of it is present yet\n",
                region_.local.value(), region_.remote.value());
    const auto start = std::chrono::steady_clock::now();
    const RegionKeys huge = Register(reinterpret_cast<std::byte*>(uint64_t{1} << 44), kTiB);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    std::printf("   registered 1 TiB as well, in %.1f us: nothing is pinned or touched\n",
                took.count());
    CHECK(core_.regions.Deregister(huge.local).has_value());
  }

  void AMissingPage() {
    Title("2. A page fault");
    std::printf("   the peer writes 5 bytes at +8192:\n");
    Translation answer = Ask(region_.remote, At(2 * kPage), 5, AccessKind::kRemoteWrite);
    const Fault* fault = AsFault(answer);
    CHECK(fault != nullptr);
    // A pager does this on another thread, while other queue pairs continue.
    std::memset(buffer_ + fault->first_page * kPage, 0, kPage);
    CHECK(core_.regions.MapPages(fault->region, fault->first_page, fault->page_count, {}, true)
              .has_value());
    std::printf("   the pager pages it in; the peer tries again:\n");
    answer = Ask(region_.remote, At(2 * kPage), 5, AccessKind::kRemoteWrite);
    Write(answer, "hello");
    std::printf("   the buffer contains \"%.5s\"\n", Text(2 * kPage));
  }

  void AWindow() {
    Title("3. A window: exactly 101 bytes of the region");
    window_ = core_.windows.Allocate(pd_, WindowType::k1).value();
    const WindowBinding binding{.region = region_.local,
                                .start = At(2 * kPage + 3),
                                .length = 101,
                                .rights = Access::kRemoteRead | Access::kRemoteWrite,
                                .zero_based = true};
    window_ = core_.windows.Bind(window_, binding, peer_).value();
    std::printf("   bound, zero-based: R_Key %08x; the peer never sees a real address\n",
                window_.value());
    std::printf("   the peer writes its first two bytes:\n");
    Write(Ask(window_, KeyAddress(0), 2, AccessKind::kRemoteWrite), "p!");
    std::printf("   the buffer contains \"%.5s\"\n", Text(2 * kPage));
    std::printf("   its last byte, then one past the end:\n");
    Ask(window_, KeyAddress(100), 1, AccessKind::kRemoteRead);
    Ask(window_, KeyAddress(101), 1, AccessKind::kRemoteRead);
    std::printf("   the owner rebinds the window; the old key:\n");
    const Key old = window_;
    WindowBinding elsewhere = binding;
    elsewhere.start = At(2 * kPage + 1000);
    window_ = core_.windows.Bind(window_, elsewhere, peer_).value();
    Ask(old, KeyAddress(0), 2, AccessKind::kRemoteWrite);
    std::printf("   an atomic, which the window does not grant:\n");
    Ask(window_, KeyAddress(0), 8, AccessKind::kRemoteAtomic);
    std::printf("   a queue pair of another protection domain:\n");
    const PdId other = core_.domains.Allocate(core_.consumers.Open({}).value()).value();
    Show(core_.translator.Translate(window_, KeyAddress(0), 1, AccessKind::kRemoteRead,
                                    {other, QpNumber(99)}));
  }

  void AOneTouchKey() {
    Title("4. A one-touch key: the first message that uses it invalidates it");
    Key key = core_.windows.Allocate(pd_, WindowType::k1).value();
    key = core_.windows
              .Bind(key,
                    {.region = region_.local,
                     .start = At(2 * kPage),
                     .length = 64,
                     .rights = Access::kRemoteWrite,
                     .one_touch = true},
                    peer_)
              .value();
    for (const char* attempt : {"first message:", "second message:"}) {
      std::printf("   %s\n", attempt);
      const Translation answer = Ask(key, At(2 * kPage), 5, AccessKind::kRemoteWrite);
      if (AsReady(answer) == nullptr) break;
      Write(answer, "again");
      const StreamNumber last(4);
      const auto action =
          core_.one_touch.Touch(key, {.ends_message = true, .last_byte = last},
                                {.next_expected = last + 1, .window = 65536}, peer_);
      CHECK(action == TouchAction::kPlaceAndInvalidate);
    }
  }

  void PagesGone() {
    Title("5. The system swaps the page out");
    const uint64_t gone = core_.InvalidateMachine(MachineAddressOf(buffer_ + 2 * kPage),
                                                  MachineAddressOf(buffer_ + 3 * kPage - 1));
    std::printf("   %lu entry invalidated; the next access faults again:\n", gone);
    Ask(window_, KeyAddress(0), 1, AccessKind::kRemoteRead);
  }

  void ACopyThatCannotCrash() {
    Title("6. The program unmaps memory during a transfer");
    CHECK(core_.regions.MapPages(region_.local, 4, 2, {}, true).has_value());
    const Translation answer =
        Ask(region_.remote, At(5 * kPage - 100), 200, AccessKind::kRemoteWrite);
    munmap(buffer_ + 5 * kPage, kPage);
    const std::string message(200, 'x');
    const CopyOutcome outcome =
        CopyIn(AsReady(answer)->spans, std::as_bytes(std::span(message.data(), message.size())));
    std::printf("   %lu of 200 bytes were copied, and the process did not crash\n", outcome.copied);
    CHECK(outcome.copied == 100 && outcome.fault.has_value());
  }

  static constexpr uint64_t kBufferBytes = uint64_t{1} << 20;

 private:
  static constexpr uint64_t kTiB = uint64_t{1} << 40;

  RegionKeys Register(std::byte* memory, uint64_t length) {
    const RegionSpec spec{.pd = pd_,
                          .start = KeyAddress(reinterpret_cast<uintptr_t>(memory)),
                          .length = length,
                          .rights = Access::kLocalRead | Access::kLocalWrite | Access::kRemoteRead |
                                    Access::kRemoteWrite | Access::kWindowBind};
    return core_.regions.Register(spec, LinearBacking{PhysicalAddress(spec.start.value())}).value();
  }

  KeyAddress At(uint64_t offset) const {
    return KeyAddress(reinterpret_cast<uintptr_t>(buffer_) + offset);
  }
  const char* Text(uint64_t offset) const {
    return reinterpret_cast<const char*>(buffer_) + offset;
  }

  Translation Ask(Key key, KeyAddress address, uint64_t length, AccessKind access) const {
    Translation answer = core_.translator.Translate(key, address, length, access, peer_);
    Show(answer);
    return answer;
  }

  static void Show(const Translation& answer) {
    if (const Ready* ready = AsReady(answer)) {
      std::printf("      ready    %lu bytes\n", ready->spans.length());
    } else if (const Fault* fault = AsFault(answer)) {
      std::printf("      faulting page %lu of the region is not present\n", fault->first_page);
    } else {
      const Refusal refusal = *AsRefusal(answer);
      std::printf("      refused  by check %c: %s\n", CheckOf(refusal), NameOf(refusal));
    }
  }

  static void Write(const Translation& answer, const std::string& text) {
    const CopyOutcome outcome =
        CopyIn(AsReady(answer)->spans, std::as_bytes(std::span(text.data(), text.size())));
    CHECK(!outcome.fault.has_value());
  }

  std::byte* buffer_;
  MemoryCore core_;
  PdId pd_;
  Accessor peer_;
  RegionKeys region_;
  Key window_;
};

}  // namespace

int main() {
  SignalGuard::Install();
  void* buffer =
      mmap(nullptr, Tour::kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(buffer != MAP_FAILED);
  std::printf(
      "Every access of the adapter to memory goes through Translate, which returns ready (the\n"
      "address), faulting (the page to page in) or refused (the check that failed).\n");
  Tour tour(static_cast<std::byte*>(buffer));
  tour.ARegion();
  tour.AMissingPage();
  tour.AWindow();
  tour.AOneTouchKey();
  tour.PagesGone();
  tour.ACopyThatCannotCrash();
  std::printf("\nSee src/memory/memory_core.h, then src/memory/protection/translator.h.\n");
  return 0;
}
