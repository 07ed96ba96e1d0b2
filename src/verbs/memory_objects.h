#pragma once

#include <memory>
#include <utility>

#include "memory/regions.h"
#include "verbena/memory_window.h"
#include "verbs/any_instance.h"
#include "verbs/objects.h"

// Regions and windows; see objects.h.

namespace verbena::verbs {

struct RegionObject {
  RegionObject(std::shared_ptr<PdObject> on, const memory::RegionSpec& with,
               const memory::RegionKeys& made)
      : pd(std::move(on)), spec(with), keys(made) {}
  RegionObject(const RegionObject&) = delete;
  RegionObject& operator=(const RegionObject&) = delete;
  ~RegionObject() {
    if (End()) return;
    pd->windows.EndBoundTo(keys.local, pd->device);
    static_cast<void>(End());
  }

  Ended End() {
    if (has_ended) return {};
    const Ended ended = EndAnyInstance(
        keys.local, [this](memory::Key key) { return pd->device.DeregisterRegion(key); });
    has_ended = ended.has_value();
    return ended;
  }

  // These three change when it is registered anew.
  std::shared_ptr<PdObject> pd;
  memory::RegionSpec spec;
  memory::RegionKeys keys;
  bool has_ended = false;
};

struct WindowObject {
  WindowObject(std::shared_ptr<PdObject> on, memory::Key key, WindowType of)
      : pd(std::move(on)), type(of), entry{.key = key} {
    pd->windows.Add(entry);
  }
  WindowObject(const WindowObject&) = delete;
  WindowObject& operator=(const WindowObject&) = delete;
  ~WindowObject() { static_cast<void>(End()); }

  Ended End() { return pd->windows.End(entry, pd->device); }

  const std::shared_ptr<PdObject> pd;
  const WindowType type;
  WindowEntry entry;
};

}  // namespace verbena::verbs
