#pragma once

#include <cstddef>
#include <unordered_map>

#include "base/result.h"
#include "transport/cm/cm_counters.h"
#include "transport/cm/cm_error.h"
#include "transport/cm/cm_options.h"
#include "transport/cm/cm_step.h"
#include "transport/cm/cm_table.h"
#include "transport/cm/remote_key.h"
#include "transport/cm/sidr_exchange.h"

namespace verbena::transport {

// All SIDR exchanges of an address, by their id and by the id of the requesting peer. Owned by
// CmManager; one thread at a time.
class SidrExchanges {
 public:
  // Both outlive it.
  SidrExchanges(const CmOptions& options, CmCounters& counters);

  [[nodiscard]] Result<wire::SidrRequestId, CmError> Ask(const wire::CmSidrReq& req,
                                                         const CmPeer& to,
                                                         const SidrExchange::Retry& retry,
                                                         CmStep& step);
  [[nodiscard]] Result<void, CmError> Answer(wire::SidrRequestId id, const wire::CmSidrRep& rep,
                                             CmStep& step);
  [[nodiscard]] Result<void, CmError> Destroy(wire::SidrRequestId id, CmStep& step);

  // `is_served`: the service has a listener.
  void OnRequest(const wire::CmSidrReq& req, wire::TransactionId transaction, const CmPeer& from,
                 bool is_served, CmStep& step);
  void OnResponse(const wire::CmSidrRep& rep, const CmPeer& from, CmStep& step);
  // Handles one due timer; false if there is none.
  bool OnTime(CmStep& step);

  [[nodiscard]] Time next_time() const { return table_.next_time(); }
  [[nodiscard]] std::size_t size() const { return table_.size(); }
  [[nodiscard]] bool IsConsistent() const;

 private:
  [[nodiscard]] static RemoteKey KeyOf(const CmPeer& from, wire::SidrRequestId id) {
    return {.peer = from, .number = id.value()};
  }
  // To be called after each input to `id`.
  void UpdateTables(wire::SidrRequestId id);

  const CmOptions& options_;
  CmCounters& counters_;
  CmTable<SidrExchange, wire::SidrRequestId> table_;
  std::unordered_map<RemoteKey, wire::SidrRequestId, RemoteKeyHash> requests_;  // of peers
};

}  // namespace verbena::transport
