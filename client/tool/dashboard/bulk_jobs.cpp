// Running jobs.
#include <algorithm>

#include "bulk.hpp"

namespace belay::tool::dashboard {
namespace {

constexpr std::int64_t kKeptFor = 24 * 3600000;
constexpr std::size_t kMostJobs = 1000;
constexpr std::size_t kMostReasons = 50;
constexpr int kMostTries = 30;

}  // namespace

BulkJobs::BulkJobs(Database& database, Streams& streams, FindHub find_hub,
                   std::function<void(const std::string&)> changed)
    : database_(database),
      streams_(streams),
      find_hub_(std::move(find_hub)),
      changed_hub_(std::move(changed)),
      thread_([this] { run(); }) {}

BulkJobs::~BulkJobs() {
    stop();
}

void BulkJobs::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

Json BulkJobs::json_of(const Job& job) {
    const std::int64_t length = (job.ended_ms != 0 ? job.ended_ms : system_ms()) - job.started_ms;
    const auto seen = static_cast<double>(job.done + job.skipped + job.failures);
    return {{"at_ms", system_ms()},
            {"id", job.id},
            {"action", job.call.action->name},
            {"label", std::string(job.call.action->label) + " " + job.call.bulk->what + "s"},
            {"state", job.state},
            {"by", job.by},
            {"reason", job.call.reason},
            {"filter", job.call.selected ? std::to_string(job.call.ids.size()) + " selected"
                                         : json_text(job.call.filter)},
            {"total", job.total},
            {"done", job.done},
            {"skipped", job.skipped},
            {"failed", job.failed},
            {"rate", length > 0 ? seen * 1000 / static_cast<double>(length) : 0.0},
            {"started_at_ms", job.started_ms},
            {"ended_at_ms", job.ended_ms != 0 ? Json(job.ended_ms) : Json(nullptr)},
            {"cursor", job.cursor ? Json(*job.cursor) : Json(nullptr)}};
}

Json BulkJobs::start(const std::shared_ptr<const Credential>& credential,
                     const std::string& session, const std::string& hub, const std::string& user,
                     const BulkCall& call, const Json& total, const OptionalText& after) {
    const std::string key = session + "\n" + hub + "\n" + call.key;
    const std::lock_guard lock(mutex_);
    for (const auto& job : jobs_) {
        if (job->key == key) {
            return json_of(*job);
        }
    }
    std::erase_if(jobs_, [](const auto& job) {
        return job->ended_ms != 0 && system_ms() - job->ended_ms > kKeptFor;
    });
    if (jobs_.size() >= kMostJobs) {
        throw Busy();
    }
    auto job = std::make_shared<Job>();
    job->id = std::to_string(++last_id_);
    job->key = key;
    job->hub = hub;
    job->credential = credential;
    job->call = call;
    job->by = user;
    job->total = total;
    job->cursor = after;
    job->started_ms = system_ms();
    jobs_.push_front(job);
    changed_.notify_all();
    return json_of(*job);
}

// With mutex_ locked.
std::shared_ptr<BulkJobs::Job> BulkJobs::get(const std::string& hub, const std::string& id) {
    const auto found = std::ranges::find_if(
        jobs_, [&](const auto& job) { return job->hub == hub && job->id == id; });
    if (found == jobs_.end()) {
        throw NotFound("job " + id + " does not exist; jobs end with the dashboard's process");
    }
    return *found;
}

Json BulkJobs::find(const std::string& hub, const std::string& id) {
    const std::lock_guard lock(mutex_);
    return json_of(*get(hub, id));
}

const BulkCall BulkJobs::call_of(const std::string& hub, const std::string& id) {
    const std::lock_guard lock(mutex_);
    return get(hub, id)->call;
}

Json BulkJobs::list(const std::string& hub) {
    Json rows = Json::array();
    const std::lock_guard lock(mutex_);
    for (const auto& job : jobs_) {
        if (job->hub == hub) {
            rows.push_back(json_of(*job));
        }
    }
    return rows;
}

Json BulkJobs::stop_job(const std::string& hub, const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto job = get(hub, id);
    if (job->state == "running") {
        job->state = "stopping";
        job->due_ms = 0;
        changed_.notify_all();
    }
    return json_of(*job);
}

Json BulkJobs::go_on(const std::shared_ptr<const Credential>& credential,
                     const std::string& session, const std::string& hub, const std::string& user,
                     const std::string& id, const std::string& key) {
    BulkCall call;
    Json total;
    OptionalText cursor;
    {
        const std::lock_guard lock(mutex_);
        const auto job = get(hub, id);
        if (job->state != "stopped" && job->state != "failed") {
            throw BadRequest("the job has not been stopped");
        }
        call = job->call;
        cursor = job->cursor;
        const std::int64_t seen = job->done + job->skipped + job->failures;
        total = job->total;
        total["n"] = std::max<std::int64_t>(0, total["n"].get<std::int64_t>() - seen);
    }
    call.key = key;
    return start(credential, session, hub, user, call, total, cursor);
}

void BulkJobs::end_credential(const Credential& credential) {
    const std::lock_guard lock(mutex_);
    for (const auto& job : jobs_) {
        if (job->credential->key != credential.key) {
            continue;
        }
        if (job->state == "running") {
            job->state = "stopping";
            job->due_ms = 0;
        }
        // Who stops and lists jobs needs no more of it than its key.
        job->credential = std::make_shared<Credential>(
            Credential{.key = credential.key, .conninfo = {}, .needs_password = true});
    }
    changed_.notify_all();
}

// The job whose turn it is: the oldest of each hub, one portion after the other.
std::shared_ptr<BulkJobs::Job> BulkJobs::next_job(std::int64_t& pause) {
    std::set<std::string> hubs;
    std::shared_ptr<Job> first;
    for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) {
        if ((*job)->ended_ms == 0 && hubs.insert((*job)->hub).second &&
            (first == nullptr || (*job)->due_ms < first->due_ms)) {
            first = *job;
        }
    }
    pause = first == nullptr ? 3600000 : first->due_ms - steady_ms();
    return pause > 0 ? nullptr : first;
}

void BulkJobs::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        std::int64_t pause = 0;
        const auto job = next_job(pause);
        if (job == nullptr) {
            changed_.wait_for(lock, std::chrono::milliseconds(pause));
            continue;
        }
        if (job->state == "stopping") {
            job->state = "stopped";
            job->ended_ms = system_ms();
            tell(*job);
            continue;
        }
        lock.unlock();
        work(job);
        lock.lock();
        tell(*job);
    }
}

// One portion.
void BulkJobs::work(const std::shared_ptr<Job>& job) {
    const std::int64_t begin = steady_ms();
    std::shared_ptr<const Credential> credential;
    {
        const std::lock_guard lock(mutex_);
        if (job->state != "running") {
            return;
        }
        credential = job->credential;
    }
    try {
        auto connection = database_.lease(credential);
        Hub hub = find_hub_(*connection, *credential, job->hub);
        const Portion got = portion(hub, *job);
        const std::lock_guard lock(mutex_);
        take(*job, got);
    } catch (const Error& error) {
        const std::lock_guard lock(mutex_);
        refuse(*job, error.connection_lost() ? "" : std::string(error.sqlstate()), error.what());
    } catch (const std::exception& error) {
        // No connection is free, or the hub is gone.
        const std::lock_guard lock(mutex_);
        refuse(*job, "", error.what());
    }
    changed_hub_(job->hub);
    const std::lock_guard lock(mutex_);
    job->due_ms = std::max(job->due_ms, steady_ms() + (steady_ms() - begin));
}

BulkJobs::Portion BulkJobs::portion(Hub& hub, const Job& job) {
    Values values;
    const std::string sql = bulk_statement(job.call, hub.schema(), job.cursor, values);
    const Json answer = in_action(hub, job.call.reason, [&] {
        return Json::parse(
            hub.query(Effect::kWrite, sql + "::text", params_of(values)).get<std::string>(0, 0));
    });
    Portion portion;
    portion.done = answer["done"].get<std::int64_t>();
    portion.skipped = answer["skipped"].get<std::int64_t>();
    portion.failed = answer["failed"];
    portion.last = answer["next"].is_null();
    if (!portion.last) {
        portion.next = answer["next"].get<std::string>();
    }
    return portion;
}

void BulkJobs::take(Job& job, const Portion& portion) {
    job.tries = 0;
    job.done += portion.done;
    job.skipped += portion.skipped;
    job.failures += static_cast<std::int64_t>(portion.failed.size());
    for (const auto& one : portion.failed) {
        const auto same = std::ranges::find_if(job.failed, [&](const Json& reason) {
            return reason["code"] == one["code"] && reason["word"] == one["word"];
        });
        if (same != job.failed.end()) {
            (*same)["n"] = (*same)["n"].get<std::int64_t>() + 1;
        } else if (job.failed.size() < kMostReasons) {
            job.failed.push_back(
                {{"code", one["code"]},
                 {"word", one["word"]},
                 {"n", 1},
                 {"example", one["id"].is_string() ? one["id"] : Json(one["id"].dump())}});
        }
    }
    job.cursor = portion.next;
    if (portion.last) {
        job.state = "done";
        job.ended_ms = system_ms();
    }
}

// A portion failed as a whole, and was rolled back. What may pass is tried again.
void BulkJobs::refuse(Job& job, const std::string& state, const std::string& message) {
    const bool passes = state.empty() || state.starts_with("08") || state.starts_with("40") ||
                        state.starts_with("53") || state.starts_with("57P") || state == "55P03";
    if (passes && ++job.tries < kMostTries) {
        job.due_ms = steady_ms() + 1000;
        return;
    }
    job.state = "failed";
    job.ended_ms = system_ms();
    job.failed.push_back({{"code", state},
                          {"word", state.empty() ? "the database cannot be reached" : message},
                          {"n", 0},
                          {"example", ""}});
}

// With mutex_ locked.
void BulkJobs::tell(const Job& job) {
    streams_.send(job.credential->key, {"bulk", job.hub, job.id}, "bulk",
                  {{"hub", job.hub}, {"job", json_of(job)}});
}

}  // namespace belay::tool::dashboard
