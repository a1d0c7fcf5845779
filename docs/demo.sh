#!/usr/bin/env bash
# The client library and its tool at work. `make demo` runs it on a throw-away server, after
# docs/demo.sql. By hand: with the programs belay, image_flow, order_saga and transactional_enqueue
# in PATH, and libpq's variables naming a database that has the extension.
set -euo pipefail

title() { printf '\n== %s\n' "$*"; }
# Words with spaces are shown as one would write them.
show() {
    local word line=
    for word; do
        [[ $word != *' '* ]] || word="'$word'"
        line+=" $word"
    done
    printf '\n$%s\n' "$line"
    "$@"
}

export BELAY_HUB=shop
psql -X -q -v ON_ERROR_STOP=1 -c "SELECT belay.create_hub('shop')" >/dev/null

title '27. An orchestration in C++ =============================================='
cat <<'TEXT'
client/examples/order_saga.cpp: charge the card, then ship. If that takes too long
or the customer cancels, shipping is stopped and the money refunded. A dispatcher
and a worker of the client library run it. Order 1 goes well, order 2 is not
shipped in time, order 3 is cancelled by the customer: the handler that runs is
told at once.
TEXT
show order_saga shop

title '28. What the tool says about it =========================================='
show belay instances
show belay show order-2
show belay history order-3

title '29. An order and its work in one transaction ============================='
show transactional_enqueue shop
show belay queue

title '30. A worker in one line ================================================='
show belay run-worker --tag example --count 1 --shell 'echo "charged by a shell script"'

title '31. A flow of tasks ======================================================'
cat <<'TEXT'
client/examples/image_flow.cpp: fetch a picture, make three sizes of it, publish when
two are there. Nobody needs the third one then: it is cancelled while it runs.
TEXT
show image_flow shop
show belay flows
flow=$(psql -X -qtA -c 'SELECT flow_id FROM shop.list_flows()')
show belay flow "$flow"
show belay flow "$flow" --dot

title '32. The live view ========================================================'
echo 'Without --once it is drawn anew every two seconds, with rates.'
show belay top --once

printf '\nThe hub "shop" is still there; belay.drop_hub removes it.\n'
