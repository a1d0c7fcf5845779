// Notes of a transaction that belong to a level of its subtransactions.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// Moves the notes of the level that commits to the one above it, and hands those of a level that
// aborts to undo before they are dropped. Returns how many notes are left; their order stays.
template <typename Note, typename Undo>
int end_level(Note* notes, int count, bool committed, Undo undo) {
    const int level = GetCurrentTransactionNestLevel();
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        if (notes[i].level < level) {
            notes[kept++] = notes[i];
        } else if (committed) {
            notes[kept] = notes[i];
            notes[kept++].level = level - 1;
        } else {
            undo(notes[i]);
        }
    }
    return kept;
}

}  // namespace belay::pg
