#include "operations.hpp"

namespace belay::test::model {

const std::vector<Operation>& operations() {
    static const std::vector<Operation> all = [] {
        std::vector<Operation> list;
        for (const auto part : {worker_operations(), message_operations(), turn_operations(),
                                state_operations(), dead_letter_operations(), hub_operations(),
                                management_operations(), removal_operations()}) {
            list.insert(list.end(), part.begin(), part.end());
        }
        return list;
    }();
    return all;
}

}  // namespace belay::test::model
