// The live view, apart from where its numbers come from and where it is shown.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belay/admin.hpp"
#include "belay/queue.hpp"
#include "print.hpp"

namespace belay::tool {

// What is known at one moment.
struct TopSample {
    std::string database = {};
    std::int64_t at_ms = 0;
    std::vector<HubInfo> hubs = {};
    std::map<std::string, ProviderDepths> depths =
        {};  // of a hub; absent without the right to see them
    std::vector<QueueStats> queues = {};
    // Queues of tasks; none without the right to see them.
    struct TaskQueue {
        std::string hub;
        QueueDepth depth;
    };
    std::vector<TaskQueue> task_queues = {};
    // Owners of leases of work items and tasks: hub, owner id, leases.
    struct Owner {
        std::string hub;
        std::string owner_id;
        std::int64_t leases = 0;
    };
    std::vector<Owner> owners = {};
    bool owners_known = false;
    std::string background = {};  // state of the background worker; "" if that cannot be seen
    // With --all-nodes: the servers of the hubs, the one that was asked first. One that is away has
    // no hubs here, and an error.
    struct Node {
        std::string place;  // host:port
        std::int64_t hubs = 0;
        std::string background = {};
        std::string error = {};
    };
    std::vector<Node> nodes = {};
};

// One row of the view: a queue now, and what happened per second since the sample before.
struct TopRow {
    std::string hub;
    std::string queue;
    OptionalNumber depth = {};
    OptionalNumber oldest_ms = {};
    OptionalNumber leases = {};
    OptionalNumber waiters = {};
    std::optional<double> enqueued = {};
    std::optional<double> fetched = {};
    std::optional<double> acked = {};
    OptionalNumber dead_lettered = {};
};

std::vector<TopRow> top_rows(const TopSample* before, const TopSample& now);

// How the view is shown: what its keys change.
struct TopView {
    enum class Sort { kName, kDepth, kOldest, kRate };

    Sort sort = Sort::kName;
    std::string filter = {};   // part of the name of a hub, queue or worker; "" for all
    bool asks_filter = false;  // keys are letters of the filter
    bool help = false;
    bool colours = false;
};

// Does what a key asks for. False: leave.
bool press(TopView& view, char key);

// The view in width columns and height lines, without a line break at the end. What does not fit is
// left out: first the hub if there is only one, then what can be seen elsewhere, rates last.
std::string render_top(const TopSample* before, const TopSample& now, std::size_t width,
                       std::size_t height, const TopView& view = {});

Json top_json(const TopSample* before, const TopSample& now);

}  // namespace belay::tool
