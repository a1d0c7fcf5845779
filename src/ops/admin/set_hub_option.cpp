// set_hub_option.cpp — set an option of a hub, or restore its default.
//
// Calls    store::set_stored_option
// Touches  <hub>.belay_hub
// Locks    the hub row
// Raises   QB002 unknown hub, QB006 unknown option or bad value, 42501
#include "ops/admin/admin.hpp"
#include "pg/errors.hpp"
#include "store/hub_row.hpp"
#include "store/plan.hpp"

namespace belay::ops {

namespace {

store::Option checked_option(std::string_view name) {
    const auto option = store::find_option(name);
    if (!option) {
        pg::raise(pg::kInvalidArgument, psprintf("unknown hub option \"%s\"", pg::c_string(name)),
                  pg::Facts("unknown_option").add("path", "p_option").add("value", name),
                  "SELECT option FROM belay.hub_options lists the options.");
    }
    return *option;
}

void check_value(store::Option option, std::string_view value) {
    const auto& rule = store::kOptionRules[static_cast<int>(option)];
    if (!store::read_option(option, value)) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("invalid value for hub option \"%s\": \"%s\"", rule.name,
                           pg::c_string(value)),
                  pg::Facts("bad_value").add("path", "p_value").add("option", rule.name).add("value", value),
                  psprintf("Expected %s, or NULL for the default.", rule.expected));
    }
}

}  // namespace

void set_hub_option(const char* name, std::string_view option_name,
                    std::optional<std::string_view> value) {
    const store::Option option = checked_option(option_name);
    if (value) {
        check_value(option, *value);
    }
    const store::Hub& hub = store::own_hub_by_name(name);
    PreventCommandIfReadOnly("belay.set_hub_option");
    const char* stored_name = store::kOptionRules[static_cast<int>(option)].name;
    store::as_role(hub.owner, [&hub, stored_name, value] {
        store::with_spi(false, [&hub, stored_name, value] {
            store::set_stored_option(hub, stored_name, value);
        });
    });
}

}  // namespace belay::ops
