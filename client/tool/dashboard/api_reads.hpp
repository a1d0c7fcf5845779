// The reads of a hub: one table from a route's name to its statement and the level that it needs.
#pragma once

#include <string>

#include "belay/hub.hpp"
#include "bodies.hpp"
#include "router.hpp"

namespace belay::tool::dashboard {

// What is asked for does not exist.
class NotFound : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

// Something in the query or in the body of a request is not as it has to be.
class BadRequest : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

// This server cannot answer it yet.
class NotAvailable : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

struct ReadRequest {
    Hub hub;
    const Route& route;
    bool is_operator = false;
    bool shows_bodies = true;  // by --bodies
    const std::vector<std::string>& redact;
};

struct ReadAnswer {
    Json json = {};
    bool is_download = false;
    std::string download = {};
};

// The level that a read needs, for the hint of an error; "" if there is no such read.
std::string level_of_read(const std::string& read);

// Throws Error, NotFound, BadRequest or NotAvailable.
ReadAnswer run_read(ReadRequest& request);

}  // namespace belay::tool::dashboard
