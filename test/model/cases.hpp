// Cases of the rules that a run is to meet: random calls prove nothing about what never happened.
#pragma once

#include <array>

namespace belay::test::model {

enum class Case {
    kContextOfRow,
    kContextOfHistory,
    kContextOfStartWithHistory,
    kContextUnknown,
    kContextOfStart,
    kStartBehindTheBatch,
    kStartHidden,
    kOrphansDropped,
    kOrphansSetAside,
    kBackFromAside,
    kFiltered,
    kPassedLiveLock,
    kPassedHeld,
    kTakenOver,
    kBatchLimited,
    kMessageBuried,
    kBatchBuried,
    kInstanceBorn,
    kParentFilledIn,
    kParentKept,
    kPinReplaced,
    kExecutionBack,
    kNothingLeftBehind,
    kStatusLost,
    kMerged,
    kMergedTombstone,
    kCancelledOwn,
    kAbandonedExpired,
    kAbandonedDelayed,
    kAbandonedBesideOthers,
    kCount
};

constexpr std::array<const char*, static_cast<std::size_t>(Case::kCount)> kCaseNames = {
    "turn with the context of the instance row (C1)",
    "turn with the context of an event (C2)",
    "turn with history and the context of a start message (C3)",
    "turn with history and an unknown context (C3)",
    "turn with the context of a start message (C4)",
    "turn whose start message is behind the limit of the batch",
    "instance that waits for a hidden start (C5)",
    "orphans dropped (OR-1)",
    "orphans set aside (OR-2)",
    "first turn of an instance with messages set aside (OR-3)",
    "instance passed over because of its pin",
    "instance passed over because of a live lock",
    "instance passed over because another transaction holds it",
    "turn taken over from an expired lock",
    "turn with a limited batch",
    "message leased too often",
    "batch of nothing else",
    "instance born in an ack",
    "parent filled in later",
    "parent kept against another",
    "pin replaced",
    "ack of an execution before the current one",
    "empty ack of an instance that does not exist",
    "custom status without an instance",
    "key/value changes merged",
    "tombstone merged",
    "activity cancelled in the ack that scheduled it",
    "expired turn abandoned",
    "turn abandoned with a delay",
    "turn abandoned beside messages that came later",
};

}  // namespace belay::test::model
