// The end of the process. A kernel closes the ids of a process that ends; here the process itself
// tells its peers, which would else wait for answers until their patience is over.

#include "rdmacm/objects/id.h"

namespace verbena::rdmacm {
namespace {

// Other threads may still use the ids: these stay, and only their connections end.
__attribute__((destructor)) void DisconnectAll() {
  TheIdTable().ForEach([](Id& id) {
    if (id.state == IdState::kConnect) static_cast<void>(id.handle.Disconnect());
  });
}

}  // namespace
}  // namespace verbena::rdmacm
