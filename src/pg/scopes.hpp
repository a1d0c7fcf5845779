// Scopes are functions, not objects: they lend something to a body and take it back. On ERROR the
// transaction takes it back, so there is no destructor to skip.
#pragma once

#include "pg/boundary.hpp"
#include "pg/pg.hpp"

namespace belay::pg {

// Runs body with the rights of role and nothing more: no deferred triggers, no temporary objects,
// and no setting that body changes outlives it. On ERROR the transaction restores the caller.
template <JumpSafe Body>
auto as_role(Oid role, Body body) {
    Oid caller;
    int context;
    GetUserIdAndSecContext(&caller, &context);
    const int settings_level = NewGUCNestLevel();
    SetUserIdAndSecContext(role,
                           context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
        body();
        AtEOXact_GUC(false, settings_level);
        SetUserIdAndSecContext(caller, context);
    } else {
        auto result = body();
        static_assert(JumpSafe<decltype(result)>);
        AtEOXact_GUC(false, settings_level);
        SetUserIdAndSecContext(caller, context);
        return result;
    }
}

// Lends body one snapshot, taken now: all its queries see the same state.
template <JumpSafe Body>
auto with_one_view(Body body) {
    PushActiveSnapshot(GetTransactionSnapshot());
    auto result = body();
    static_assert(JumpSafe<decltype(result)>);
    PopActiveSnapshot();
    return result;
}

// Lends body the latest committed state, also where the transaction keeps an older snapshot.
template <JumpSafe Body>
auto with_latest_view(Body body) {
    PushActiveSnapshot(GetLatestSnapshot());
    auto result = body();
    static_assert(JumpSafe<decltype(result)>);
    PopActiveSnapshot();
    return result;
}

// Lends body a connection to SPI. What body allocates goes away with it.
template <JumpSafe Body>
auto with_spi(Body body) {
    if (SPI_connect() != SPI_OK_CONNECT) {
        elog(ERROR, "could not connect to SPI");
    }
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
        body();
        SPI_finish();
    } else {
        auto result = body();
        static_assert(JumpSafe<decltype(result)>);
        SPI_finish();
        return result;
    }
}

}  // namespace belay::pg
