// The open transaction that holds a row or a key, for those who ask why nothing moves.
#pragma once

#include "pg/locks.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

struct OpenTransaction {
    int32 pid;                            // 0: of a prepared transaction
    std::optional<std::string_view> gid;  // of a prepared transaction
    std::optional<int64> age_ms;  // since it began, or was prepared; none if that is not shown
};

using Places = Out<ItemPointerData>;
// The transaction, other than ours, that holds one of these rows (their ctids); none if it has
// ended meanwhile.
std::optional<OpenTransaction> row_holder(const Hub& hub, Oid table, const Places& places);
// Who has a transaction that was open a moment ago; none if it has ended meanwhile.
std::optional<OpenTransaction> transaction_holder(const Hub& hub, TransactionId transaction);
// Whether there is one.
bool is_row_held(Oid table, const Places& places);
// The one that holds a key.
std::optional<OpenTransaction> key_holder(const Hub& hub, pg::LockSpace space, uint64 key);

// It as a JSON object, and in words.
const char* json_of(const OpenTransaction& transaction);
const char* words_of(const OpenTransaction& transaction);

}  // namespace belay::store
