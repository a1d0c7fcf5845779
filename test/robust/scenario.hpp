// A hub with something of everything in it: what the tests of this folder break, attack and read.
#pragma once

#include <libpq-fe.h>

#include <map>
#include <string>
#include <vector>

#include "cluster.hpp"

namespace belay::test::robust {

// How a statement ended.
struct Outcome {
    std::string sqlstate;  // empty if it succeeded, "08006" if the connection broke
    std::string message;
    std::string detail;
    std::string hint;
    bool ok() const { return sqlstate.empty(); }
};

Outcome attempt(Conn& conn, const std::string& sql);

// "NN", two hexadecimal digits, as the id of a task or flow.
std::string id_of(const std::string& digits);

// The names that calls use for what a hub handed out: tokens, waitpoints, positions.
using Words = std::map<std::string, std::string>;

// The text with each quote doubled, and as an identifier.
std::string escaped(const std::string& text, char quote);
std::string quoted(const std::string& name);

// The text with <NN> replaced by an id, <hub> by the hub as an identifier, or after a quote as
// text, and <word> by what words have for it.
std::string filled(std::string text, const std::string& hub, const Words& words);

// Makes a hub of api belay and fills it; times in it are chosen, near 1000.
Words make_full_hub(Conn& conn, const std::string& hub);

// Makes a hub of api duroxide-pg with a turn and a work item leased, and one of each ready.
Words make_duroxide_hub(Conn& conn, const std::string& hub);

// One call of a verb, that does all it can do in a full hub.
struct Call {
    const char* verb;
    const char* arguments;
    const char* before = "";  // a statement that goes first, in the same transaction
};

// Calls of every verb that writes.
const std::vector<Call>& writing_calls();
const std::vector<Call>& writing_duroxide_calls();

// "SELECT * FROM hub.verb(arguments)", filled in, after what goes before.
std::string statement_of(const Call& call, const std::string& hub, const Words& words);

// A digest of every row of every table of a hub, with a line per table.
std::string digest(Conn& conn, const std::string& hub);

// Rows of belay.check_hub as text; empty for a healthy hub.
std::string complaints(Conn& conn, const std::string& hub);

// BELAY_SEED, or one that is made up; and whether BELAY_LONG asks for the long form.
unsigned long long seed_of_run();
bool long_form();

}  // namespace belay::test::robust
