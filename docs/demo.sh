#!/usr/bin/env bash
# The client library and its tool at work. `make demo` runs it on a throw-away server, after
# docs/demo.sql. By hand: with the programs belay, image_flow, order_saga and transactional_enqueue
# in PATH, and libpq's variables naming a database that has the extension.
set -euo pipefail

# Titles are bold on a terminal, and what is typed has a colour.
bold=
typed=
plain=
if [[ -t 1 ]]; then
    bold=$'\e[1;36m'
    typed=$'\e[33m'
    plain=$'\e[0m'
fi
title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
# Words with spaces are shown as one would write them.
show() {
    local word line=
    for word; do
        [[ $word != *' '* ]] || word="'$word'"
        line+=" $word"
    done
    printf '\n%s$%s%s\n' "$typed" "$line" "$plain"
    "$@"
}
# As show, of lines that are longer than a screen is wide.
show_clipped() { show "$@" | sed -E 's/^(.{139}).+/\1…/'; }

examples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../client/examples" && pwd)
export BELAY_HUB=shop
psql -X -q -v ON_ERROR_STOP=1 -c "SELECT belay.create_hub('shop')" >/dev/null

title '12. A task in the transaction of an order, in C++'
show transactional_enqueue shop
show belay tasks --queue example-charges

title '13. A worker in one line'
show belay receive example-charges --count 1 --exec 'echo "charged by a shell script"'

title '14. A durable function in C++'
cat <<'TEXT'
client/examples/order_saga.cpp: charge the card, then ship. If that takes too long
or the customer cancels, shipping is stopped and the money refunded. It is a
coroutine; its progress is stored in the hub:
TEXT
printf '\n'
sed -n '/^Durable<std::string> buy/,/^}/p; /^Durable<std::string> run_saga/,/^}/p' "$examples/order_saga.cpp"
cat <<'TEXT'

Order 1 goes well, order 2 is not shipped in time, order 3 is cancelled by the
customer: the handler that runs is stopped at once.
TEXT
show order_saga shop

title '15. What the tool says about it'
show belay instances
show belay show order-2
show_clipped belay history order-3

title '16. A flow of tasks'
cat <<'TEXT'
client/examples/image_flow.cpp: fetch a picture, make three sizes of it, publish when
two are there. The third is not needed then: it is cancelled while it runs.
TEXT
show image_flow shop
show belay flows
flow=$(psql -X -qtA -c 'SELECT flow_id FROM shop.list_flows()')
show belay flow "$flow"
show belay flow "$flow" --dot

title '17. The live view'
echo 'Without --once it is drawn anew every two seconds, with rates.'
show belay top --once

printf '\nThe hub "shop" is still there; belay.drop_hub removes it.\n'
printf 'To see all this in a browser: make dashboard\n'
