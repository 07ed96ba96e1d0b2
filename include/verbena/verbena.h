#pragma once

// The C++ API of Verbena, a software RDMA channel adapter: start here, and at docs/api.md.
//
//   Context            an open device, from which all other objects are made
//   ProtectionDomain   groups queue pairs, regions and windows that work together
//   MemoryRegion       registered memory, which the adapter may access
//   RegionIo           counts operations on a region whose memory the host may want back
//   MemoryWindow       a range of a region with a key of its own, for peers
//   QueuePair          a connection, or an endpoint for datagrams: sends, writes, reads, atomics
//   CompletionQueue    holds the completions of work requests
//   CompletionChannel  lets a thread sleep until there is a completion
//   SharedReceiveQueue receive requests for several queue pairs
//   AddressHandle      the destination of datagrams
//   XrcDomain          the shared receive queues that extended connections deliver to
//   ManagedMemory      memory with a budget and a swap file
//   RegistrationCache  keeps buffers registered between uses
//   SharedBuffers      the registered buffers in shared memory of all processes of the machine
//   PeerBuffers        the list of a client's registered buffers, at the server it does I/O with
//   Rendezvous         a TCP connection to exchange addresses and keys

#include "verbena/access.h"
#include "verbena/address_handle.h"
#include "verbena/advice.h"
#include "verbena/async_event.h"
#include "verbena/completion.h"
#include "verbena/completion_channel.h"
#include "verbena/completion_queue.h"
#include "verbena/connection_manager.h"
#include "verbena/context.h"
#include "verbena/counters.h"
#include "verbena/current_io.h"
#include "verbena/current_io_word.h"
#include "verbena/device.h"
#include "verbena/error.h"
#include "verbena/gid.h"
#include "verbena/handle.h"
#include "verbena/ip_address.h"
#include "verbena/managed_memory.h"
#include "verbena/memory_events.h"
#include "verbena/memory_region.h"
#include "verbena/memory_window.h"
#include "verbena/numbers.h"
#include "verbena/options.h"
#include "verbena/peer_buffers.h"
#include "verbena/post_error.h"
#include "verbena/protection_domain.h"
#include "verbena/qp_attributes.h"
#include "verbena/qp_state.h"
#include "verbena/queue_pair.h"
#include "verbena/registration_cache.h"
#include "verbena/rendezvous.h"
#include "verbena/serial_number.h"
#include "verbena/shared_buffer.h"
#include "verbena/shared_buffers.h"
#include "verbena/shared_receive_queue.h"
#include "verbena/strong_id.h"
#include "verbena/work_request.h"
#include "verbena/xrc_domain.h"
