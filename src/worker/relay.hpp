// Intents: deliver at once what was just sent, and talk to hubs of other databases.
//
// Each link is a connection that is kept, and a small state machine: connecting, ready, a batch
// under way. The loop of the worker turns all of them; between its rounds it sleeps on its latch
// and on their sockets, in no transaction.
#pragma once

#include "pg/pg.hpp"

namespace belay::worker {

// Called once, after the connection to the database is made.
void begin_relay();

// Hears which hubs have something to deliver.
void hear_relay_calls();

// Delivers one portion for each of these hubs, and moves every link as far as it goes without
// waiting.
void run_relay();

// Lets every open link look whether it is still meant.
void check_links();

// Lets go of links of hubs that are gone.
void forget_links();

// Milliseconds until the relay has something to do by itself.
int64 until_relay_due();

// Sleeps until the latch is set, a link can continue, or the time is over.
void sleep_on_links(int64 ms, uint32 event);

}  // namespace belay::worker
