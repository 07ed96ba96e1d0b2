#pragma once

// The C++ API of Verbena, a software RDMA channel adapter: start here, and at docs/api.md.
//
//   Context            an open device; all else is made from one
//   ProtectionDomain   which of the following belong together
//   MemoryRegion       memory that the adapter may touch
//   MemoryWindow       a view of some of it, for peers
//   QueuePair          sends, writes, reads, and what connects it to another
//   CompletionQueue    where work requests end
//   CompletionChannel  where to sleep until one does
//   SharedReceiveQueue receive requests for several queue pairs
//   AddressHandle      whom datagrams go to
//   XrcDomain          whom extended connections deliver to
//   ManagedMemory      memory that may be larger than the memory it uses
//   Rendezvous         how two programs tell each other their addresses

#include "verbena/access.h"
#include "verbena/address_handle.h"
#include "verbena/async_event.h"
#include "verbena/completion.h"
#include "verbena/completion_channel.h"
#include "verbena/completion_queue.h"
#include "verbena/context.h"
#include "verbena/counters.h"
#include "verbena/device.h"
#include "verbena/error.h"
#include "verbena/gid.h"
#include "verbena/handle.h"
#include "verbena/managed_memory.h"
#include "verbena/memory_region.h"
#include "verbena/memory_window.h"
#include "verbena/numbers.h"
#include "verbena/options.h"
#include "verbena/protection_domain.h"
#include "verbena/qp_attributes.h"
#include "verbena/queue_pair.h"
#include "verbena/rendezvous.h"
#include "verbena/shared_receive_queue.h"
#include "verbena/work_request.h"
#include "verbena/xrc_domain.h"
