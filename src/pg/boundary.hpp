// The border between PostgreSQL's C and belay's C++.
//
// Two rules hold on this side of it. No C++ exception ever leaves into C: at_boundary() turns what
// slips into an ERROR. And no ereport(ERROR) ever jumps over a destructor: server code keeps only
// trivially destructible values alive (JumpSafe), which test/lint/jumps.sh checks.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// Values that may be alive in a frame which ereport(ERROR) jumps over: longjmp is defined in C++
// only if it skips no destructor.
template <typename T>
concept JumpSafe = std::is_trivially_destructible_v<T>;

// What a catch block hands to the ereport() after it. Raising inside the handler would leak the
// exception object.
struct Failure {
    int sqlstate;
    char message[512];

    void set(int code, const char* text) noexcept {
        sqlstate = code;
        strlcpy(message, text, sizeof message);
    }
    [[noreturn]] void raise() const {
        ereport(ERROR, (errcode(sqlstate), errmsg("%s", message)));
        pg_unreachable();
    }
};

// Runs body; an escaping C++ exception becomes a PostgreSQL error.
// Nothing is allocated and nothing is raised while a handler is active.
template <JumpSafe Body>
auto at_boundary(Body body) -> std::invoke_result_t<Body> {
    static constinit Failure failure{};  // a backend has one thread; set and raised at once
    try {
        return body();
    } catch (const std::bad_alloc&) {
        failure.set(ERRCODE_OUT_OF_MEMORY, "out of memory");
    } catch (const std::exception& e) {
        failure.set(ERRCODE_INTERNAL_ERROR, e.what());
    } catch (...) {
        failure.set(ERRCODE_INTERNAL_ERROR, "unrecognized C++ exception");
    }
    failure.raise();
}

}  // namespace belay::pg

// Opens a function that PostgreSQL finds by its C name. There are few: the handler and the
// validator of language belay, and the functions of schema belay.
#define BELAY_FUNCTION(name)                                                     \
    extern "C" {                                                                 \
    BELAY_EXPORT Datum name(PG_FUNCTION_ARGS);                                   \
    BELAY_EXPORT const Pg_finfo_record* pg_finfo_##name(void);                   \
    PG_FUNCTION_INFO_V1(name);                                                   \
    }                                                                            \
    static Datum name##_body(FunctionCallInfo fcinfo);                           \
    extern "C" Datum name(PG_FUNCTION_ARGS) {                                    \
        return belay::pg::at_boundary([fcinfo] { return name##_body(fcinfo); }); \
    }                                                                            \
    static Datum name##_body([[maybe_unused]] FunctionCallInfo fcinfo)
