#pragma once

#include <memory>
#include <utility>

#include "memory/protection/regions.h"
#include "memory/spaces/current_io.h"
#include "verbena/memory_window.h"
#include "verbs/any_variant.h"
#include "verbs/objects.h"

// Regions and windows; see objects.h.

namespace verbena::verbs {

struct RegionObject {
  RegionObject(std::shared_ptr<PdObject> on, const memory::RegionSpec& with)
      : pd(std::move(on)), spec(with) {}
  RegionObject(const RegionObject&) = delete;
  RegionObject& operator=(const RegionObject&) = delete;
  ~RegionObject() {
    EndQuietly(*this);
    if (has_ended) return;
    pd->windows.EndBoundTo(keys.local, pd->device);
    EndQuietly(*this);
  }

  void Name(const memory::RegionKeys& made) {
    keys = made;
    has_ended = false;
  }
  // REQUIRES: the process is not a child of the one that opened the device.
  [[nodiscard]] adapter::GuestControl& control() const { return *pd->device.guest_control(); }

  Ended End() {
    if (has_ended) return {};
    const Ended ended =
        EndAnyVariant(keys.local, [this](Key key) { return pd->device.DeregisterRegion(key); });
    has_ended = ended.has_value();
    return ended;
  }

  // Changed by Reregister.
  std::shared_ptr<PdObject> pd;
  memory::RegionSpec spec;
  memory::RegionKeys keys = {};
  memory::CurrentIo::Word* current_io = nullptr;  // may be null
  bool has_ended = true;
};

struct WindowObject {
  WindowObject(std::shared_ptr<PdObject> on, WindowType of) : pd(std::move(on)), type(of) {}
  WindowObject(const WindowObject&) = delete;
  WindowObject& operator=(const WindowObject&) = delete;
  ~WindowObject() { EndQuietly(*this); }

  void Name(Key key) {
    entry = {.key = key};
    pd->windows.Add(entry);
  }

  Ended End() { return pd->windows.End(entry, pd->device); }

  const std::shared_ptr<PdObject> pd;
  const WindowType type;
  WindowEntry entry{.has_ended = true};
};

}  // namespace verbena::verbs
