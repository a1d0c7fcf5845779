// Actions on many objects: jobs that run in portions, one job at a time per hub. A job belongs to
// no tab, and ends with the process; what it did is in the events. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "database.hpp"
#include "rights.hpp"
#include "sampler.hpp"
#include "statement.hpp"
#include "streams.hpp"

namespace belay::tool::dashboard {

// What can be done with many objects at once.
struct BulkAction {
    const char* name;      // of the action on one object
    const char* what;      // task, instance, dead letter
    const char* function;  // of the hub, for one portion
    const char* call;      // with :filter, :reason, :order and :after
    const char* browse;    // the function that lists the objects
    const char* id;        // of an object, in its rows
    const char* label;     // another column, for people
    const char* state;     // the column that says whether there is anything to do with it
    const char* upto;      // the filter key that leaves out what came later
    const char* effect;
};

const std::vector<BulkAction>& bulk_actions();

// A request to act on selected objects, or on all that match.
struct BulkCall {
    const BulkAction* bulk = nullptr;
    const Action* action = nullptr;
    Json filter = Json::object();  // as the functions of the hub have it
    OptionalText order = {};
    std::vector<std::string> ids = {};
    bool selected = false;  // the ids, not all that match
    std::string reason = {};
    std::string key = {};
    bool dry_run = false;
};

// Reads the body of a request. Throws BadRequest for what is not in the tables.
BulkCall parse_bulk(const std::string& body);

// The statement of one portion, on the hub with this schema as it is written, and its values.
std::string bulk_statement(const BulkCall& call, const std::string& schema,
                           const OptionalText& after, Values& values);

// How many there are, some of them, and what would be done. Throws Error.
Json describe_bulk(Hub& hub, const BulkCall& call, bool allowed);

class BulkJobs {
 public:
    // changed: called after each portion, with the hub.
    BulkJobs(Database& database, Streams& streams, FindHub find_hub,
             std::function<void(const std::string& hub)> changed);
    ~BulkJobs();

    // Starts a job and returns it. A request with the same key of the same session gets the same.
    Json start(const std::shared_ptr<const Credential>& credential, const std::string& session,
               const std::string& hub, const std::string& user, const BulkCall& call,
               const Json& total, const OptionalText& after = {});
    // Of a job of the hub. Throws NotFound, BadRequest.
    Json find(const std::string& hub, const std::string& id);
    Json stop_job(const std::string& hub, const std::string& id);
    Json go_on(const std::shared_ptr<const Credential>& credential, const std::string& session,
               const std::string& hub, const std::string& user, const std::string& id,
               const std::string& key);
    const BulkCall call_of(const std::string& hub, const std::string& id);
    Json list(const std::string& hub);
    // Stops the jobs that run with a password of this credential, and forgets the password.
    void end_credential(const Credential& credential);

    void stop();  // after the portion that runs

 private:
    struct Job {
        std::string id;
        std::string key;
        std::string hub;
        std::shared_ptr<const Credential> credential;
        BulkCall call;
        std::string by;
        std::string state = "running";
        Json total;
        std::int64_t done = 0;
        std::int64_t skipped = 0;
        Json failed = Json::array();  // by reason; of many reasons, the first ones
        std::int64_t failures = 0;
        OptionalText cursor = {};
        int tries = 0;
        std::int64_t started_ms = 0;
        std::int64_t ended_ms = 0;
        std::int64_t busy_ms = 0;  // that portions took
        std::int64_t due_ms = 0;   // by the steady clock
    };
    struct Portion {
        std::int64_t done = 0;
        std::int64_t skipped = 0;
        Json failed = Json::array();
        OptionalText next = {};
        bool last = true;
    };

    void run();
    std::shared_ptr<Job> next_job(std::int64_t& pause);
    void work(const std::shared_ptr<Job>& job);
    Portion portion(Hub& hub, const Job& job);
    void take(Job& job, const Portion& portion);
    // state: the SQLSTATE, "" if no server answered.
    void refuse(Job& job, const std::string& state, const std::string& message);
    void tell(const Job& job);
    static Json json_of(const Job& job);
    std::shared_ptr<Job> get(const std::string& hub, const std::string& id);

    Database& database_;
    Streams& streams_;
    FindHub find_hub_;
    std::function<void(const std::string&)> changed_hub_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<std::shared_ptr<Job>> jobs_;  // newest first
    std::int64_t last_id_ = 0;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace belay::tool::dashboard
