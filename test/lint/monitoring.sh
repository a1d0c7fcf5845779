#!/usr/bin/env bash
# The alert rules and the dashboard of docs/monitoring are what Prometheus and Grafana can read: promtool
# accepts the rules, they say what their tests expect, and every expression of the dashboard parses.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rules=docs/monitoring/belay-alerts.yml
dashboard=docs/monitoring/belay-dashboard.json

if ! promtool check rules "$rules" >"$lint_tmp/rules" 2>&1; then
    complain "$rules" "$(tail -n 1 "$lint_tmp/rules")"
fi

cp "$rules" test/monitoring/alerts_test.yml "$lint_tmp"
if ! (cd "$lint_tmp" && promtool test rules alerts_test.yml) >"$lint_tmp/tests" 2>&1; then
    complain test/monitoring/alerts_test.yml "$(tr '\n' ' ' <"$lint_tmp/tests")"
fi

# Grafana's variables stand for a label or a duration. Each expression becomes a rule.
if perl -MJSON::PP -e '
    local $/;
    open my $in, "<", $ARGV[0] or die "$ARGV[0]: $!\n";
    my $dashboard = JSON::PP->new->decode(<$in>);
    my $count = 0;
    print "groups:\n  - name: dashboard\n    rules:\n";
    for my $panel (@{$dashboard->{panels}}) {
        for my $target (@{$panel->{targets}}) {
            my $expr = $target->{expr};
            $expr =~ s/\$__rate_interval/5m/g;
            $expr =~ s/\$\w+/x/g;
            $count++;
            print "      - record: \"panel:$count\"\n        expr: >-\n          $expr\n";
        }
    }
    die "no panels\n" unless $count;
    ' "$dashboard" >"$lint_tmp/dashboard.yml" 2>"$lint_tmp/perl"; then
    if ! promtool check rules "$lint_tmp/dashboard.yml" >"$lint_tmp/check" 2>&1; then
        complain "$dashboard" "$(tail -n 3 "$lint_tmp/check" | tr '\n' ' ')"
    fi
else
    complain "$dashboard" "$(cat "$lint_tmp/perl")"
fi

verdict
