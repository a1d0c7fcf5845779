// The SQL files that a hub is made of: found, read, run.
//
// May touch: files in the extension's share directory; the statements in them. Must not: build SQL
// of its own.
#include "store/hub_files.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "pg/faults.hpp"
#include "pg/list.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

constexpr std::string_view kSchemaMark = "@hub@";

const char* directory(const char* part) {
    char share[MAXPGPATH];
    get_share_path(my_exec_path, share);
    return psprintf("%s/extension/belay/hub/%s", share, part);
}

// The .sql files of a directory, sorted by name.
std::span<const char*> sql_files(const char* path) {
    DIR* dir = AllocateDir(path);
    int size = 16;
    int count = 0;
    auto** names = static_cast<const char**>(palloc(sizeof(char*) * static_cast<Size>(size)));
    while (const dirent* entry = ReadDir(dir, path)) {
        const std::string_view name = entry->d_name;
        if (!name.ends_with(".sql")) {
            continue;
        }
        if (count == size) {
            size *= 2;
            names =
                static_cast<const char**>(repalloc(names, sizeof(char*) * static_cast<Size>(size)));
        }
        names[count++] = pstrdup(entry->d_name);
    }
    FreeDir(dir);
    std::sort(names, names + count, [](const char* a, const char* b) { return strcmp(a, b) < 0; });
    return {names, static_cast<std::size_t>(count)};
}

// The text of a file with the schema's name filled in.
const char* read_file(const char* path, const char* quoted_hub) {
    FILE* file = AllocateFile(path, PG_BINARY_R);
    if (file == nullptr) {
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\": %m", path)));
    }
    StringInfoData raw;
    initStringInfo(&raw);
    char chunk[8192];
    while (const std::size_t got = fread(chunk, 1, sizeof chunk, file)) {
        appendBinaryStringInfo(&raw, chunk, static_cast<int>(got));
    }
    if (ferror(file) != 0) {
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not read file \"%s\": %m", path)));
    }
    FreeFile(file);
    StringInfoData text;
    initStringInfo(&text);
    std::string_view rest(raw.data, static_cast<std::size_t>(raw.len));
    while (true) {
        const auto at = rest.find(kSchemaMark);
        appendBinaryStringInfo(&text, rest.data(),
                               static_cast<int>(at == std::string_view::npos ? rest.size() : at));
        if (at == std::string_view::npos) {
            return text.data;
        }
        appendStringInfoString(&text, quoted_hub);
        rest.remove_prefix(at + kSchemaMark.size());
    }
}

extern "C" void belay_name_file(void* path) {
    errcontext("hub file \"%s\"", static_cast<const char*>(path));
}

void run_file(const char* dir, const char* name, const char* hub) {
    const char* path = psprintf("%s/%s", dir, name);
    ErrorContextCallback context;
    context.callback = belay_name_file;
    context.arg = const_cast<char*>(name);
    context.previous = error_context_stack;
    error_context_stack = &context;
    run_once(read_file(path, quote_identifier(hub)));
    error_context_stack = context.previous;
}

// Files of a newer release may lie there before the server has its library.
bool is_known_step(const char* name) {
    return atoi(name) <= kHubVersion;
}

std::array<const char*, 2> object_directories(Api api) {
    return {directory("objects"), directory(psprintf("api/%s", kApiNames[static_cast<int>(api)]))};
}

}  // namespace

void pin_settings(Reach reach) {
    constexpr struct {
        const char* name;
        const char* value;
    } kPinned[] = {
        {"search_path", "pg_catalog, pg_temp"},
        {"client_min_messages", "warning"},
        {"check_function_bodies", "on"},
        {"default_table_access_method", "heap"},
    };
    for (const auto& setting : kPinned) {
        (void)set_config_option(setting.name, setting.value, PGC_USERSET, PGC_S_SESSION,
                                GUC_ACTION_SAVE, true, 0, false);
    }
    // Citus would make a new schema a tenant's, and its tables its own.
    const struct {
        const char* name;
        const char* value;
    } of_citus[] = {
        {"citus.enable_ddl_propagation", reach == Reach::kAllNodes ? "on" : "off"},
        {"citus.enable_schema_based_sharding", "off"},
        // One connection to each node: with more of them a transaction can wait for itself.
        {"citus.multi_shard_modify_mode", "sequential"},
    };
    for (const auto& setting : of_citus) {
        if (GetConfigOption(setting.name, true, false) != nullptr) {
            (void)set_config_option(setting.name, setting.value, PGC_USERSET, PGC_S_SESSION,
                                    GUC_ACTION_SAVE, true, 0, false);
        }
    }
}

void run_hub_steps(const char* hub, int32 after) {
    const char* dir = directory("steps");
    for (const char* name : sql_files(dir)) {
        if (atoi(name) > after && is_known_step(name)) {
            pg::fail_here(pg::FaultPoint::kUpgradeStep);
            run_file(dir, name, hub);
        }
    }
}

void run_hub_objects(const char* hub, Api api) {
    for (const char* dir : object_directories(api)) {
        for (const char* name : sql_files(dir)) {
            run_file(dir, name, hub);
        }
    }
}

std::span<const char* const> hub_file_texts(const char* hub, Api api) {
    pg::List<const char*> texts;
    const char* quoted = quote_identifier(hub);
    const char* steps = directory("steps");
    for (const char* name : sql_files(steps)) {
        if (is_known_step(name)) {
            texts.add(read_file(psprintf("%s/%s", steps, name), quoted));
        }
    }
    for (const char* dir : object_directories(api)) {
        for (const char* name : sql_files(dir)) {
            texts.add(read_file(psprintf("%s/%s", dir, name), quoted));
        }
    }
    return texts.span();
}

}  // namespace belay::store
