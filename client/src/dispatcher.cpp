// The dispatcher: fetches turns, keeps their leases, runs handlers, and passes on what they
// decided.
//
// May touch: its threads and connections, the shares of slots that its keeper has. Must not: decide
// what a turn means; handlers do.
#include "belay/dispatcher.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "belay/worker.hpp"
#include "coupling.hpp"
#include "retry.hpp"
#include "slot_keeper.hpp"
#include "turn_elements.hpp"
#include "turn_settler.hpp"
#include "work_loop.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Events that one call of read_history brings.
constexpr int kHistoryPage = 256;

// The history of the turn's execution behind an event, which did not come with the turn. Throws if
// the lease is over before all of it is read.
std::vector<TurnElement> read_in_pages(Hub& hub, const Turn& turn, OptionalNumber after,
                                       const std::stop_token& stop) {
    std::vector<TurnElement> events;
    for (bool more = true; more;) {
        if (stop.stop_requested()) {
            throw Error({.message = "the lease has ended while the history was being read",
                         .sqlstate = "QB001"});
        }
        auto page =
            hub.orchestrations().history(turn.instance_id, turn.execution_id, after, kHistoryPage);
        more = page.size() == kHistoryPage;
        for (auto& event : page) {
            after = event.event_id;
            events.push_back(element_of_text(std::move(event.event_data)));
        }
    }
    return events;
}

}  // namespace

TurnContext::TurnContext(TurnLease& lease, std::vector<TurnElement> history,
                         std::vector<TurnElement> messages, ReadHistory read_history)
    : lease_(lease),
      turn_(lease.turn()),
      history_(std::move(history)),
      messages_(std::move(messages)),
      read_history_(std::move(read_history)),
      history_after_(turn_.history_after) {
    const auto is_corrupt = [](const TurnElement& element) { return element.corrupt; };
    corrupt_ =
        std::ranges::any_of(history_, is_corrupt) || std::ranges::any_of(messages_, is_corrupt);
}

void TurnContext::read_whole_history() {
    if (history_after_ == 0) {
        return;
    }
    history_ = read_history_();
    history_after_ = 0;
    corrupt_ = corrupt_ || std::ranges::any_of(history_, [](const TurnElement& element) {
                   return element.corrupt;
               });
}

std::stop_token TurnContext::stop_token() const {
    return lease_.stop_token();
}

StopReason TurnContext::stop_reason() const {
    return lease_.stop_reason();
}

void TurnContext::ack(const Decision& decision, Where where) {
    lease_.ack(decision, where);
}

void TurnContext::ack_with(const std::function<void(Connection&)>& body, const Decision& decision,
                           Where where) {
    lease_.ack_with(body, decision, where);
}

struct Dispatcher::Impl : WorkLoop<Turn>, TurnSide {
    using Kind = DispatcherEvent::Kind;

    DispatcherOptions options;
    std::map<std::string, TurnHandler> handlers = {};
    TurnOptions base_options = {};
    std::optional<SlotKeeper> slots = {};     // while run() runs, if slots are shared
    std::optional<TurnSettler> settler = {};  // of the last run()
    std::shared_ptr<Coupling> coupling = {};  // with a worker
    Pool* portions = nullptr;                 // while run() runs

    explicit Impl(DispatcherOptions given) : options(std::move(given)) {
        if (options.share_slots && options.slots) {
            throw Error({.message = "slots cannot be both given and shared", .sqlstate = "QB006"});
        }
        if (options.owner_id.empty()) {
            options.owner_id = made_up_owner("dispatcher");
        }
        base_options = {.lock_timeout = options.lock_timeout,
                        .min_version_packed = options.min_version_packed,
                        .max_version_packed = options.max_version_packed,
                        .slots = options.slots,
                        .cache_owner = options.cache_owner,
                        .names = options.names};
        set_up({.connection = options.connection,
                .concurrency = options.concurrency,
                .connections = options.connections,
                .wait_timeout = options.wait_timeout,
                .drain_timeout = options.drain_timeout,
                .keeper = {
                    .hub = options.hub, .lease = options.lock_timeout, .clock = options.clock}});
    }

    void run_sharing_slots() {
        if (options.share_slots) {
            slots.emplace(
                SlotKeeperOptions{.connection = loop_options().connection,
                                  .hub = options.hub,
                                  .queue = ProviderQueue::kOrchestrator,
                                  .owner = options.owner_id,
                                  .lease = options.slot_lease,
                                  .clock = options.clock,
                                  .on_change = [this] { look_again(); },
                                  .on_error = [this](const auto& error) { tell_error(error); }});
        }
        try {
            run();
        } catch (...) {
            slots.reset();
            throw;
        }
        slots.reset();
    }

    // What to ask for now.
    TurnOptions fetch_options(int max_turns) const {
        constexpr int kMost = 1000;
        TurnOptions now = base_options;
        now.max_turns = std::min(max_turns, kMost);
        if (slots) {
            now.slots = slots->slots();
        }
        return now;
    }

    void begin_run(Pool& pool) override {
        portions = &pool;
        make_settler(pool);
        if (coupling) {
            coupling->turns.open(*this);
        }
    }

    void end_run() noexcept override {
        if (coupling) {
            coupling->turns.close();
        }
    }

    void make_settler(Pool& pool) {
        settler.emplace(TurnSettlerOptions{
            .connections = options.connections,
            .call =
                [this, &pool](const std::vector<TurnAck>& acks, int max_turns) {
                    auto connection = pool.take();
                    return commit(hub_on(*connection), acks, max_turns);
                },
            .fetches = [this] { return !stopping(); },
            .deliver = [this](std::vector<Turn> turns) { hand_on(std::move(turns)); }});
    }

    // Turns make activities ready: a worker beside this dispatcher gets them with the same call.
    AckedTurns commit(Hub hub, const std::vector<TurnAck>& acks, int max_turns) const {
        BorrowedHandlers handlers(coupling ? &coupling->work : nullptr);
        if (handlers.handlers() == 0) {
            return hub.provider().ack_and_fetch_turns(acks, fetch_options(max_turns));
        }
        SettledTurnsAndWork settled =
            ack_turns_and_fetch(hub, acks, fetch_options(max_turns),
                                handlers.side()->work_options(handlers.handlers()));
        handlers.deliver(std::move(settled.items));
        return {std::move(settled.acks), std::move(settled.turns)};
    }

    // Gives leased turns to the handlers, or back if the dispatcher ends.
    void hand_on(std::vector<Turn> turns) {
        if (!pass_on(turns)) {
            give_back_unused(*portions, {std::make_move_iterator(turns.begin()),
                                         std::make_move_iterator(turns.end())});
        }
    }

    int reserve_turns() override { return reserve_handlers(); }

    TurnOptions turn_options(int max_turns) const override { return fetch_options(max_turns); }

    std::unique_ptr<PredictedTurn> predict(const ActivityCompletion& completion) const override {
        return options.predict && options.cache_owner && !stopping() ? options.predict(completion)
                                                                     : nullptr;
    }

    void receive_turns(std::vector<Turn> turns, int reserved) noexcept override {
        try {
            hand_on(std::move(turns));
        } catch (const std::exception& error) {
            tell_error(error);  // the leases lapse
        }
        end_reservation(reserved);
    }

    void fetch(Hub& hub, int free, std::vector<Turn>& turns) override {
        turns = hub.provider().ack_and_fetch_turns({}, fetch_options(free)).turns;
    }

    std::vector<std::string> queues(bool has_free_handler) const override {
        return has_free_handler ? std::vector<std::string>{"orchestrator"}
                                : std::vector<std::string>{};
    }

    void give_back(Hub& hub, const Turn& turn) override {
        hub.provider().abandon_orchestration_item(turn.lock_token, {}, true);
    }

    void tell_error(const std::exception& error) const noexcept override {
        tell(options.on_event, {.kind = Kind::kError, .message = error.what()});
    }

    Milliseconds delay_after(int attempt) const {
        return growing_delay(options.retry_delay, options.max_retry_delay, attempt);
    }

    std::optional<Turn> handle(LeaseKeeper& keeper, Pools& pools, Turn turn) override {
        const auto began = SteadyClock::now();
        Pool& pool = pools.portions;
        TurnLease lease = keeper.keep(std::move(turn));
        lease.call_through(pools.handlers);
        lease.ack_through(*settler);
        const Active active(*this, lease);
        std::optional<TurnContext> context;
        const auto event = [&](Kind kind, std::string message) {
            tell(options.on_event, {.kind = kind,
                                    .turn = context ? &*context : nullptr,
                                    .message = std::move(message),
                                    .elapsed = elapsed_since(began)});
        };
        const bool infrastructure = report_failures<Kind>(
            lease,
            [&] {
                context.emplace(lease, history_of(pool, lease),
                                elements_of_array(lease.turn().messages),
                                [&] { return read_history(pool, lease, {}); });
                event(Kind::kFetched, "");
                if (context->corrupt()) {
                    event(Kind::kCorrupt, "an element of the turn is no JSON");
                }
                decide(lease, *context, event);
            },
            event);
        // A refused ack keeps the lease; so does a history that could not be read.
        give_back_later(lease, delay_after(lease.turn().attempt), infrastructure);
        if (auto next = lease.take_next()) {
            return next;  // also while stopping: it is leased
        }
        if (stopping() || lease.has_fetched()) {
            return std::nullopt;
        }
        auto connection = pool.take();
        auto next = hub_on(*connection).provider().ack_and_fetch_turns({}, fetch_options(1)).turns;
        return next.empty() ? std::nullopt : std::optional(std::move(next.front()));
    }

    std::vector<TurnElement> history_of(Pool& pool, const TurnLease& lease) const {
        const Turn& turn = lease.turn();
        if (turn.history) {
            return elements_of_array(*turn.history);
        }
        return read_history(
            pool, lease,
            turn.history_after > 0 ? OptionalNumber(turn.history_after) : std::nullopt);
    }

    std::vector<TurnElement> read_history(Pool& pool, const TurnLease& lease,
                                          OptionalNumber after) const {
        auto connection = pool.take();
        Hub hub = hub_on(*connection);
        return read_in_pages(hub, lease.turn(), after, lease.stop_token());
    }

    template <typename Event>
    void decide(TurnLease& lease, TurnContext& context, const Event& event) {
        const TurnHandler* handler = find_handler(handlers, context.name());
        if (handler == nullptr) {
            lease.give_back(options.retry_delay, true);
            event(Kind::kNoHandler, "no handler for \"" + context.name() + "\"");
            return;
        }
        const TurnOutcome outcome = run_guarded<TurnOutcome>(
            [&] { return (*handler)(context); },
            [&](HandlerFailure failure) {
                TurnOutcome retry =
                    TurnOutcome::retry(delay_after(context.attempt()), failure.infrastructure);
                retry.message = std::move(failure.message);
                return retry;
            });
        if (lease.unknown()) {
            event(Kind::kUnknown, unknown_text(outcome.message));
            return;
        }
        if (lease.lost()) {
            event(kind_of<Kind>(lease.stop_reason()), lease.stop_text());
            return;
        }
        switch (outcome.kind) {
            case TurnOutcome::Kind::kRetry:
                lease.give_back(outcome.delay, outcome.ignore_attempt);
                event(Kind::kRetried, outcome.message);
                break;
            case TurnOutcome::Kind::kSettled:
                if (!lease.settled()) {
                    throw std::logic_error("the handler says settled, but the turn is not");
                }
                event(Kind::kDecided, "");
                break;
            case TurnOutcome::Kind::kDecided:
                lease.ack(outcome.decision);
                event(Kind::kDecided, "");
                break;
        }
    }
};

Dispatcher::Dispatcher(DispatcherOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

Dispatcher::~Dispatcher() = default;

void Dispatcher::on(std::string name, TurnHandler handler) {
    impl_->handlers[std::move(name)] = std::move(handler);
}

void Dispatcher::share_calls_with(Worker& worker) {
    impl_->coupling = worker.couple(impl_->options.hub, impl_->options.lock_timeout);
}

void Dispatcher::run() {
    impl_->run_sharing_slots();
}

void Dispatcher::stop() noexcept {
    impl_->stop();
}

std::uint64_t Dispatcher::round_trips() const {
    return impl_->round_trips();
}

}  // namespace belay
