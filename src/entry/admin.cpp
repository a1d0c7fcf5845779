// The functions of schema belay, and the hub verbs that concern a hub as a whole.
#include "core/version.hpp"
#include "entry/verbs.hpp"
#include "ops/admin/admin.hpp"
#include "ops/intents/intents.hpp"
#include "pg/boundary.hpp"
#include "pg/compat.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "pg/scopes.hpp"
#include "shmem/mutants.hpp"

namespace belay::entry {

namespace {

uint8 levels_of(std::string_view name) {
    const Verb* verb = find_verb(name);
    return verb == nullptr ? static_cast<uint8>(core::kNoLevel) : verb->levels;
}

std::span<const char* const> verb_names(uint8 apis) {
    auto** names = static_cast<const char**>(palloc(sizeof(char*) * verbs().size()));
    std::size_t count = 0;
    for (const auto& verb : verbs()) {
        if ((verb.apis & apis) != 0) {
            names[count++] = verb.name;
        }
    }
    return {names, count};
}

std::span<const char* const> verbs_of(store::Api api) {
    return verb_names(static_cast<uint8>(1 << static_cast<int>(api)));
}

void refuse_null(FunctionCallInfo fcinfo, int i, const char* argument) {
    if (PG_ARGISNULL(i)) {
        pg::raise_invalid("null", argument, psprintf("%s must not be null", argument),
                          "Pass a value.");
    }
}

const char* required_name(FunctionCallInfo fcinfo, int i, const char* argument) {
    refuse_null(fcinfo, i, argument);
    return pstrdup(NameStr(*PG_GETARG_NAME(i)));
}

const char* required_text(FunctionCallInfo fcinfo, int i, const char* argument) {
    refuse_null(fcinfo, i, argument);
    return text_to_cstring(PG_GETARG_TEXT_PP(i));
}

bool flag(FunctionCallInfo fcinfo, int i) {
    return !PG_ARGISNULL(i) && PG_GETARG_BOOL(i);
}

// Runs body with a function that commits what was done so far, if the procedure was called outside
// of a transaction block; else all of it is one transaction.
template <pg::JumpSafe Body>
void in_parts(FunctionCallInfo fcinfo, Body body) {
    const bool alone = fcinfo->context != nullptr && IsA(fcinfo->context, CallContext) &&
                       !castNode(CallContext, fcinfo->context)->atomic;
    if (SPI_connect_ext(alone ? SPI_OPT_NONATOMIC : 0) != SPI_OK_CONNECT) {
        elog(ERROR, "could not connect to SPI");
    }
    body(alone ? [] { SPI_commit(); } : [] {});
    SPI_finish();
}

void add_hub(const store::HubRow& entry, const Call::Set& answer) {
    const store::Hub& hub = *entry.hub;
    const bool unread = entry.options == nullptr;
    Datum paused[static_cast<int>(store::Queue::kCount)];
    int count = 0;
    for (int i = 0; i < static_cast<int>(store::Queue::kCount); ++i) {
        if (hub.is_paused(static_cast<store::Queue>(i))) {
            paused[count++] = CStringGetTextDatum(store::kQueueNames[i]);
        }
    }
    const Datum values[] = {
        ObjectIdGetDatum(hub.schema),
        ObjectIdGetDatum(hub.owner),
        CStringGetTextDatum(hub.api == store::Api::kBelay ? "belay" : "duroxide-pg"),
        Int32GetDatum(hub.version),
        BoolGetDatum(hub.version == store::kHubVersion),
        PointerGetDatum(construct_array(paused, count, TEXTOID, -1, false, TYPALIGN_INT)),
        TimestampTzGetDatum(entry.created_at),
        BoolGetDatum(!hub.elsewhere),
    };
    const bool nulls[lengthof(values)] = {false,  false,  unread, unread,
                                          unread, unread, unread, false};
    answer.add(values, nulls);
}

void add_options(const store::HubRow& entry, const Call::Set& answer) {
    if (entry.options == nullptr) {
        return;  // the node that has the hub lists them
    }
    for (int i = 0; i < store::kOptionCount; ++i) {
        const auto& rule = store::kOptionRules[i];
        const auto option = static_cast<store::Option>(i);
        auto own = store::stored_option(entry.options, option);
        if (own && !store::read_option(option, *own)) {
            own = std::nullopt;  // written by hand, and not in force
        }
        const bool off = own && store::read_option(option, *own) == store::kOff;
        const char* value = off ? nullptr : own ? pg::c_string(*own) : rule.fallback;
        const Datum values[] = {
            NameGetDatum(&entry.hub->name),
            CStringGetTextDatum(rule.name),
            value == nullptr ? 0 : CStringGetTextDatum(value),
            BoolGetDatum(!own.has_value()),
        };
        const bool nulls[lengthof(values)] = {false, false, value == nullptr, false};
        answer.add(values, nulls);
    }
}

}  // namespace

Datum pause_hub(const Call& call) {
    ops::pause_hub(call.tables, call.text(0), call.text(1).value_or(""));
    return call.nothing();
}

Datum resume_hub(const Call& call) {
    ops::resume_hub(call.tables, call.text(0));
    return call.nothing();
}

}  // namespace belay::entry

using namespace belay;

BELAY_FUNCTION(belay_version) {
    PG_RETURN_TEXT_P(cstring_to_text(BELAY_VERSION));
}

BELAY_FUNCTION(belay_create_hub) {
    ops::create_hub(entry::required_name(fcinfo, 0, "p_name"),
                    entry::required_text(fcinfo, 1, "p_api"), entry::flag(fcinfo, 2),
                    entry::verb_names(entry::kEveryApi));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_drop_hub) {
    ops::drop_hub(entry::required_name(fcinfo, 0, "p_name"), entry::flag(fcinfo, 1));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_upgrade_hub) {
    ops::upgrade_hub(entry::required_name(fcinfo, 0, "p_name"), entry::levels_of);
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_check_hub) {
    const auto problems =
        ops::check_hub(entry::required_name(fcinfo, 0, "p_name"),
                       entry::required_text(fcinfo, 1, "p_rows"), entry::verbs_of);
    const auto answer = entry::answer_rows(fcinfo);
    for (const auto& [object, problem] : problems) {
        const Datum values[] = {CStringGetTextDatum(object), CStringGetTextDatum(problem)};
        const bool nulls[lengthof(values)] = {};
        answer.add(values, nulls);
    }
    return 0;
}

BELAY_FUNCTION(belay_set_hub_option) {
    ops::set_hub_option(
        entry::required_name(fcinfo, 0, "p_name"), entry::required_text(fcinfo, 1, "p_option"),
        PG_ARGISNULL(2) ? std::nullopt
                        : std::optional<std::string_view>(text_to_cstring(PG_GETARG_TEXT_PP(2))));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_grant_hub) {
    ops::grant_hub(entry::required_name(fcinfo, 0, "p_name"),
                   entry::required_name(fcinfo, 1, "p_role"),
                   entry::required_text(fcinfo, 2, "p_level"), entry::levels_of);
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_revoke_hub) {
    ops::revoke_hub(entry::required_name(fcinfo, 0, "p_name"),
                    entry::required_name(fcinfo, 1, "p_role"),
                    entry::required_text(fcinfo, 2, "p_level"), entry::levels_of);
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_create_hub_link) {
    ops::create_hub_link(entry::required_name(fcinfo, 0, "p_hub"),
                         entry::required_name(fcinfo, 1, "p_target_hub"),
                         entry::required_text(fcinfo, 2, "p_server"));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_drop_hub_link) {
    ops::drop_hub_link(entry::required_name(fcinfo, 0, "p_hub"),
                       entry::required_name(fcinfo, 1, "p_target_hub"));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_run_as_owner) {
    const auto answer = entry::answer_rows(fcinfo);
    ops::run_as_owner(
        entry::required_name(fcinfo, 0, "p_hub"), entry::required_text(fcinfo, 1, "p_statement"),
        [](uint64 nr, Datum row, const void* to) {
            const Datum values[] = {Int64GetDatum(static_cast<int64>(nr)), row};
            const bool nulls[lengthof(values)] = {};
            static_cast<const entry::Call::Set*>(to)->add(values, nulls);
        },
        &answer);
    return 0;
}

BELAY_FUNCTION(belay_new_incarnation) {
    PG_RETURN_INT32(
        ops::new_incarnation(PG_ARGISNULL(0) ? nullptr : pstrdup(NameStr(*PG_GETARG_NAME(0)))));
}

BELAY_FUNCTION(belay_live_leases) {
    PG_RETURN_INT64(ops::live_leases(entry::required_name(fcinfo, 0, "p_name")));
}

BELAY_FUNCTION(belay_hold_shards) {
    ops::hold_shards(entry::required_name(fcinfo, 0, "p_name"));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_hub_rows) {
    const auto answer = entry::answer_rows(fcinfo);
    ops::list_hubs(
        [](const store::HubRow& hub, const void* to) {
            entry::add_hub(hub, *static_cast<const entry::Call::Set*>(to));
        },
        &answer);
    return 0;
}

BELAY_FUNCTION(belay_shard_rows) {
    const auto answer = entry::answer_rows(fcinfo);
    for (const auto& size : ops::list_shards()) {
        const Datum values[] = {
            ObjectIdGetDatum(size.schema),   ObjectIdGetDatum(size.shell),
            ObjectIdGetDatum(size.relation), ObjectIdGetDatum(size.toast),
            Int64GetDatum(size.pages),
        };
        const bool nulls[lengthof(values)] = {};
        answer.add(values, nulls);
    }
    return 0;
}

BELAY_FUNCTION(belay_hub_option_rows) {
    const auto answer = entry::answer_rows(fcinfo);
    ops::list_hubs(
        [](const store::HubRow& hub, const void* to) {
            entry::add_options(hub, *static_cast<const entry::Call::Set*>(to));
        },
        &answer);
    return 0;
}

BELAY_FUNCTION(belay_set_hub_place) {
    entry::refuse_null(fcinfo, 2, "p_port");
    ops::set_hub_place(entry::required_name(fcinfo, 0, "p_name"),
                       {entry::required_text(fcinfo, 1, "p_host"), PG_GETARG_INT32(2)});
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_remove_hub_place) {
    PG_RETURN_BOOL(ops::remove_hub_place(entry::required_name(fcinfo, 0, "p_name")));
}

BELAY_FUNCTION(belay_hub_location) {
    const auto [place, here] = ops::hub_location(entry::required_name(fcinfo, 0, "p_name"));
    const auto answer = entry::answer_rows(fcinfo);
    const Datum values[] = {
        place ? CStringGetTextDatum(place->host) : 0,
        place ? Int32GetDatum(place->port) : 0,
        BoolGetDatum(here),
    };
    const bool nulls[lengthof(values)] = {!place, !place, false};
    answer.add(values, nulls);
    return 0;
}

BELAY_FUNCTION(belay_distribute_hub) {
    ops::distribute_hub(entry::required_name(fcinfo, 0, "p_name"),
                        PG_ARGISNULL(1) ? nullptr : entry::required_text(fcinfo, 1, "p_host"),
                        PG_ARGISNULL(2) ? std::nullopt : std::optional<int32>(PG_GETARG_INT32(2)));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_undistribute_hub) {
    ops::undistribute_hub(entry::required_name(fcinfo, 0, "p_name"));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_adopt_distribution) {
    ops::adopt_distribution(entry::required_name(fcinfo, 0, "p_name"));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_move_hub) {
    entry::refuse_null(fcinfo, 2, "p_port");
    ops::move_hub(entry::required_name(fcinfo, 0, "p_name"),
                  entry::required_text(fcinfo, 1, "p_host"), PG_GETARG_INT32(2),
                  entry::required_text(fcinfo, 3, "p_mode"));
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_rebalance_hubs) {
    entry::refuse_null(fcinfo, 1, "p_dry_run");
    const auto moves =
        ops::rebalance_hubs(entry::required_text(fcinfo, 0, "p_mode"), PG_GETARG_BOOL(1));
    const auto answer = entry::answer_rows(fcinfo);
    for (const auto& move : moves) {
        auto* hub = static_cast<Name>(palloc(NAMEDATALEN));
        namestrcpy(hub, move.hub);
        const Datum values[] = {
            NameGetDatum(hub),
            CStringGetTextDatum(move.from.host),
            Int32GetDatum(move.from.port),
            CStringGetTextDatum(move.to.host),
            Int32GetDatum(move.to.port),
            BoolGetDatum(move.done),
        };
        const bool nulls[lengthof(values)] = {};
        answer.add(values, nulls);
    }
    return 0;
}

BELAY_FUNCTION(belay_create_hub_family) {
    entry::refuse_null(fcinfo, 1, "p_hubs");
    Datum* servers = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    if (!PG_ARGISNULL(3)) {
        deconstruct_array(PG_GETARG_ARRAYTYPE_P(3), TEXTOID, -1, false, TYPALIGN_INT, &servers,
                          &nulls, &count);
    }
    auto* places = static_cast<std::string_view*>(
        palloc(sizeof(std::string_view) * static_cast<Size>(count + 1)));
    for (int i = 0; i < count; ++i) {
        places[i] = nulls[i] ? std::string_view() : TextDatumGetCString(servers[i]);
    }
    const ops::FamilyRequest request{
        .family = entry::required_name(fcinfo, 0, "p_family"),
        .hubs = PG_GETARG_INT32(1),
        .api = entry::required_text(fcinfo, 2, "p_api"),
        .servers = {places, static_cast<std::size_t>(count)},
        .here = PG_ARGISNULL(4) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(4)),
        .verbs = entry::verb_names(entry::kEveryApi)};
    entry::in_parts(fcinfo,
                    [&request](ops::Pause pause) { ops::create_hub_family(request, pause); });
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_drop_hub_family) {
    const char* family = entry::required_name(fcinfo, 0, "p_family");
    const bool force = entry::flag(fcinfo, 1);
    entry::in_parts(
        fcinfo, [family, force](ops::Pause pause) { ops::drop_hub_family(family, force, pause); });
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_family_hub) {
    const char* family = entry::required_name(fcinfo, 0, "p_family");
    const char* key = entry::required_text(fcinfo, 1, "p_key");
    auto* name = static_cast<Name>(palloc(sizeof(NameData)));
    namestrcpy(name, ops::family_hub(family, ops::family_size(family), key));
    PG_RETURN_NAME(name);
}

BELAY_FUNCTION(belay_family_hub_of) {
    const char* family = entry::required_name(fcinfo, 0, "p_family");
    entry::refuse_null(fcinfo, 1, "p_hubs");
    auto* name = static_cast<Name>(palloc(sizeof(NameData)));
    namestrcpy(name, ops::family_hub(family, PG_GETARG_INT32(1),
                                     entry::required_text(fcinfo, 2, "p_key")));
    PG_RETURN_NAME(name);
}

BELAY_FUNCTION(belay_inject_fault) {
    if (!superuser()) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("must be superuser to inject faults")));
    }
    const char* point = entry::required_text(fcinfo, 0, "p_point");
    const int32 count = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT32(1);
    const int32 skip = PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2);
    if (count < 0 || skip < 0) {
        pg::raise_invalid("out_of_range", count < 0 ? "p_count" : "p_skip",
                          "p_count and p_skip must not be negative",
                          "Pass 0 to switch the fault off.");
    }
    if (!pg::set_fault(point, static_cast<uint32>(count), static_cast<uint32>(skip)) &&
        !mutants::set(point, static_cast<uint32>(count), static_cast<uint32>(skip))) {
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized fault point \"%s\"", point),
                  pg::Facts("unknown_fault_point").add("path", "p_point").add("value", point),
                  "SELECT point FROM belay.faults() lists the fault points.");
    }
    PG_RETURN_VOID();
}

BELAY_FUNCTION(belay_faults) {
    const auto answer = entry::answer_rows(fcinfo);
    for (int i = 0; i < pg::kFaultPoints; ++i) {
        const Datum values[] = {
            CStringGetTextDatum(pg::kFaultPointNames[i]),
            Int32GetDatum(static_cast<int32>(pg::fault_count(static_cast<pg::FaultPoint>(i)))),
        };
        const bool nulls[lengthof(values)] = {};
        answer.add(values, nulls);
    }
    return 0;
}
