// Random bytes of the server's strong generator.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// Fills the bytes from the server's strong generator. It is asked for many at once: a call of it
// costs more than an update of a row. Bytes are used once and then overwritten.
void fill_random(void* bytes, Size count);

}  // namespace belay::pg
