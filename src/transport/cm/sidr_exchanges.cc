#include "transport/cm/sidr_exchanges.h"

#include "base/check.h"

namespace verbena::transport {

SidrExchanges::SidrExchanges(const CmOptions& options, CmCounters& counters)
    : options_(options), counters_(counters), table_(options.sidr_max, options.id_mask) {}

void SidrExchanges::UpdateTables(wire::SidrRequestId id) {
  const SidrExchange* const exchange = table_.Find(id);
  if (exchange->state() != SidrExchange::State::kClosed) return table_.UpdateDeadline(id);
  if (!exchange->is_active()) requests_.erase(KeyOf(exchange->peer(), exchange->request_id()));
  table_.Erase(id);
}

Result<wire::SidrRequestId, CmError> SidrExchanges::Ask(const wire::CmSidrReq& req,
                                                        const CmPeer& to,
                                                        const SidrExchange::Retry& retry,
                                                        CmStep& step) {
  const auto id = table_.Insert(SidrExchange(to));
  if (!id) return Fail(CmError::kTooManyConnections);
  table_.Find(*id)->Ask(*id, req, retry, step);
  UpdateTables(*id);
  return *id;
}

Result<void, CmError> SidrExchanges::Answer(wire::SidrRequestId id, const wire::CmSidrRep& rep,
                                            CmStep& step) {
  SidrExchange* const exchange = table_.Find(id);
  if (exchange == nullptr) return Fail(CmError::kUnknownId);
  if (!exchange->Answer(rep, step)) return Fail(CmError::kWrongState);
  UpdateTables(id);
  return {};
}

Result<void, CmError> SidrExchanges::Destroy(wire::SidrRequestId id, CmStep& step) {
  SidrExchange* const exchange = table_.Find(id);
  if (exchange == nullptr) return Fail(CmError::kUnknownId);
  exchange->Destroy(step);
  UpdateTables(id);
  return {};
}

void SidrExchanges::OnRequest(const wire::CmSidrReq& req, wire::TransactionId transaction,
                              const CmPeer& from, bool is_served, CmStep& step) {
  const RemoteKey key = KeyOf(from, req.request_id);
  if (const auto known = requests_.find(key); known != requests_.end()) {
    ++counters_.duplicates;
    return table_.Find(known->second)->OnDuplicateReq(step);
  }
  std::optional<wire::SidrRequestId> id;
  if (is_served) id = table_.Insert(SidrExchange(from));
  if (!id) {
    ++(is_served ? counters_.refused_full : counters_.refused_no_listener);
    const auto status =
        is_served ? wire::CmSidrStatus::kRejected : wire::CmSidrStatus::kInvalidServiceId;
    const wire::CmSidrRep rep{
        .request_id = req.request_id, .status = status, .service_id = req.service_id};
    step.outbox.datagrams.push_back({from, {transaction, rep}});
    return;
  }
  requests_.emplace(key, *id);
  table_.Find(*id)->OnRequest(*id, req, transaction, options_.sidr_patience, step);
  UpdateTables(*id);
}

void SidrExchanges::OnResponse(const wire::CmSidrRep& rep, const CmPeer& from, CmStep& step) {
  SidrExchange* const exchange = table_.Find(rep.request_id);
  if (exchange == nullptr || !exchange->is_active() || !exchange->peer().IsAnsweredBy(from)) {
    ++counters_.unknown;
    return;
  }
  exchange->OnResponse(rep, step);
  UpdateTables(rep.request_id);
}

bool SidrExchanges::OnTime(CmStep& step) {
  const auto id = table_.Due(step.now);
  if (!id) return false;
  table_.Find(*id)->OnTime(step);
  UpdateTables(*id);
  return true;
}

bool SidrExchanges::IsConsistent() const {
  std::size_t passive = 0;
  bool is_good = table_.IsConsistent();
  table_.ForEach([&](wire::SidrRequestId id, const SidrExchange& exchange) {
    if (exchange.is_active()) return;
    ++passive;
    const auto found = requests_.find(KeyOf(exchange.peer(), exchange.request_id()));
    is_good = is_good && found != requests_.end() && found->second == id;
  });
  return is_good && passive == requests_.size();
}

}  // namespace verbena::transport
