// The dashboard as a part of the load, and a person who looks at it: a stream that stays open, and
// pages that are read one after the other.
#pragma once

#include <string>

#include "load.hpp"

namespace belay::test::soak {

// Serves `belay dashboard` on a free port of the loopback interface. The token of its login is in
// a file beside the directory of the journal.
void serve_dashboard(Shared* shared, const std::string& journal_path);

// Logs in, opens a stream and reads pages, again and again. Each answer is in the journal, with its
// status: 0 if there was none.
void view_dashboard(Shared* shared, const Player& player, const std::string& journal_path);

}  // namespace belay::test::soak
