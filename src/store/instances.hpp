// Tables instances and executions.
#pragma once

#include "pg/pg.hpp"
#include "store/orchestrator_queue.hpp"

namespace belay::store {

struct Instance {
    std::string_view name;
    std::optional<std::string_view> version;
    int64 current_execution_id;
    std::optional<Pin> pin;  // of the current execution
};

std::optional<Instance> read_instance(Tables& tables, std::string_view instance_id);

// Holds the row of a parent against deletion, not against updates, if there is one. This and all
// that write wait for the holder of the row.
void hold_parent(Tables& tables, std::string_view instance_id);

// Creates the instance or overwrites its name and version; fills in a parent that was missing. True
// if it was created.
bool upsert_instance(Tables& tables, std::string_view instance_id, std::string_view name,
                     std::string_view version, std::optional<std::string_view> parent,
                     int64 execution_id, int64 now);

// Notes the execution of an instance, if there is a row. False: none.
bool touch_instance(Tables& tables, std::string_view instance_id, int64 execution_id, int64 now);

// What an ack says of its execution.
struct ExecutionChange {
    std::optional<std::string_view> status;
    std::optional<std::string_view> output;
    std::optional<Pin> pin;
    bool renew;  // a row that does not change gets a new version, too: a lock is not noticed by a
                 // removal whose snapshot is older
};

// What an event needs of an execution: its status, if it is there, and the instance.
struct ExecutionMark {
    std::optional<std::string_view> status;
    int64 current_execution_id;
    std::string_view name;
};
std::optional<ExecutionMark> read_execution_mark(Tables& tables, std::string_view instance_id,
                                                 int64 execution_id);

// Creates the execution, Running, if it is missing, and applies the change; whether it was missing.
bool upsert_execution(Tables& tables, std::string_view instance_id, int64 execution_id,
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
