// The settler of turns: which decisions go into a call, and who makes it.
//
// May touch: its state, under its mutex. Must not: call a server under that mutex.
#include "turn_settler.hpp"

#include <algorithm>
#include <utility>

namespace belay {
namespace {

constexpr std::size_t kMaxAcks = 500;

// With so many decisions a call is worth a connection of its own, and after such a wait, too: the
// calls that are under way may wait for a lock.
constexpr std::size_t kWorthACall = 8;
constexpr std::chrono::milliseconds kLongWait{2};

// Decisions of more bytes than this go with different calls.
constexpr std::size_t kMaxAckBytes = std::size_t{8} << 20;

std::size_t bytes_of(const Decision& decision) {
    std::size_t bytes = decision.metadata.size();
    for (const auto& event : decision.history_delta) {
        bytes += event.event_data.size();
    }
    for (const auto& item : decision.worker_items) {
        bytes += item.size();
    }
    for (const auto& item : decision.orchestrator_items) {
        bytes += item.size();
    }
    return bytes;
}

std::optional<ErrorFacts> error_of(const AckedTurn& acked) {
    if (!acked.error) {
        return std::nullopt;
    }
    return ErrorFacts{.message = acked.message.value_or("the decision was refused"),
                      .sqlstate = *acked.error,
                      .detail = Json{{"code_detail", acked.reason.value_or("")}}.dump(),
                      .outcome_unknown = acked.outcome_unknown};
}

}  // namespace

bool TurnSettler::may_call() const {
    if (waiting_.empty() || calls_ == options_.connections) {
        return false;
    }
    return calls_ == 0 || waiting_.size() >= kWorthACall ||
           std::chrono::steady_clock::now() - waiting_.front()->since >= kLongWait;
}

// Until something may have changed for this one.
void TurnSettler::wait(Waiting& mine, std::unique_lock<std::mutex>& lock) const {
    if (mine.taken || calls_ == options_.connections) {
        mine.changed.wait(lock);
    } else {
        mine.changed.wait_until(lock, mine.since + kLongWait);
    }
}

TurnSettler::Portion TurnSettler::take_portion() {
    Portion portion;
    std::size_t bytes = 0;
    while (!waiting_.empty() && portion.size() < kMaxAcks) {
        bytes += bytes_of(waiting_.front()->ack.decision);
        if (!portion.empty() && bytes > kMaxAckBytes) {
            break;
        }
        waiting_.front()->taken = true;
        portion.push_back(waiting_.front());
        waiting_.pop_front();
    }
    return portion;
}

bool TurnSettler::ack(const Turn& turn, const Decision& decision, const Where& where,
                      std::optional<Turn>& next) {
    Waiting mine{.turn = turn,
                 .ack = {turn.lock_token, decision},
                 .next = next,
                 .since = std::chrono::steady_clock::now()};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&mine);
    while (!mine.done) {
        if (mine.taken || !may_call()) {
            wait(mine, lock);
            continue;
        }
        ++calls_;
        const Portion portion = take_portion();
        lock.unlock();
        settle(portion);
        lock.lock();
        end_call(portion);
    }
    lock.unlock();
    if (mine.error) {
        throw Error(std::move(*mine.error), where);
    }
    return !mine.alone;
}

void TurnSettler::end_call(const Portion& portion) {
    --calls_;
    for (Waiting* waiting : portion) {
        waiting->done = true;
        waiting->changed.notify_one();
    }
    // This thread has its own turn to end; the first that waits makes the next call.
    if (!waiting_.empty()) {
        waiting_.front()->changed.notify_one();
    }
}

void TurnSettler::deliver(const Portion& portion, std::vector<Turn> turns) {
    std::vector<Turn> others;
    for (Turn& turn : turns) {
        const auto same = std::ranges::find_if(portion, [&turn](const Waiting* waiting) {
            return waiting->turn.instance_id == turn.instance_id && !waiting->next;
        });
        if (same != portion.end()) {
            (*same)->next = std::move(turn);
        } else {
            others.push_back(std::move(turn));
        }
    }
    options_.deliver(std::move(others));
}

void TurnSettler::settle(const Portion& portion) {
    try {
        std::vector<TurnAck> acks;
        for (const Waiting* waiting : portion) {
            acks.push_back(waiting->ack);
        }
        const int wanted = options_.fetches() ? static_cast<int>(portion.size()) : 0;
        AckedTurns answer = options_.call(acks, wanted);
        deliver(portion, std::move(answer.turns));
        for (std::size_t i = 0; i < portion.size(); ++i) {
            portion[i]->error = error_of(answer.acks.at(i));
        }
    } catch (const Error& error) {
        const bool all = portion.size() == 1 || error.outcome_unknown() || error.infrastructure();
        for (Waiting* waiting : portion) {
            waiting->alone = !all;
            if (all) {
                waiting->error = error.facts();
            }
        }
    } catch (const std::exception& error) {
        // Out of memory, or an answer that does not fit: what has happened is not known.
        for (Waiting* waiting : portion) {
            waiting->error = ErrorFacts{.message = error.what(), .outcome_unknown = true};
        }
    }
}

}  // namespace belay
