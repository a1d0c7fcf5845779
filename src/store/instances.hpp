// Tables instances and executions.
#pragma once

#include "pg/pg.hpp"
#include "store/orchestrator_queue.hpp"

namespace belay::store {

struct Instance {
    std::string_view name;
    std::optional<std::string_view> version;
    int64 current_execution_id;
    std::optional<Pin> pin;  // of the current execution, if that was asked for
};

std::optional<Instance> read_instance(Tables& tables, std::string_view instance_id,
                                      bool with_pin = true);

// Holds the row of a parent against deletion, not against updates, if there is one. This and all
// that write wait for the holder of the row.
void hold_parent(Tables& tables, std::string_view instance_id);

// What an ack found in the row of an instance.
struct NotedInstance {
    bool exists;   // the row is there now
    bool created;  // by this call
    // The execution was the instance's current one before, so it has a row: an ack that makes one
    // the current one writes that, too, and only a removal of the instance takes it away.
    bool has_execution;
    bool is_latest;         // the execution is the current one now
    std::string_view name;  // the instance's
};

// Creates the instance or overwrites its name and version; fills in a parent that was missing.
NotedInstance upsert_instance(Tables& tables, std::string_view instance_id, std::string_view name,
                              std::string_view version, std::optional<std::string_view> parent,
                              int64 execution_id, int64 now);

// Notes the execution of an instance, if there is a row.
NotedInstance touch_instance(Tables& tables, std::string_view instance_id, int64 execution_id,
                             int64 now);

// What an ack says of its execution.
struct ExecutionChange {
    std::optional<std::string_view> status;
    std::optional<std::string_view> output;
    std::optional<Pin> pin;
    bool renew;  // a row that does not change gets a new version, too: a lock is not noticed by a
                 // removal whose snapshot is older
};

// Creates the execution, Running, if it is missing, and applies the change.
struct NotedExecution {
    bool created;
    std::optional<std::string_view> status;  // before a change of it, if the row was there
};
NotedExecution upsert_execution(Tables& tables, std::string_view instance_id, int64 execution_id,
                                const ExecutionChange& change, int64 now);

// Sets or clears the custom status and counts its version up.
void set_custom_status(Tables& tables, std::string_view instance_id,
                       std::optional<std::string_view> status);

struct CustomStatus {
    std::optional<std::string_view> status;
    int64 version;
};
std::optional<CustomStatus> read_custom_status(Tables& tables, std::string_view instance_id);

// The greatest execution id of the instance in table executions.
std::optional<int64> latest_execution(Tables& tables, std::string_view instance_id);

}  // namespace belay::store
