#!/usr/bin/env bash
# Messages follow PostgreSQL's style guide: the primary message begins in lower case, has no period and
# says "unrecognized" or "invalid"; DETAIL and HINT are sentences, and a HINT says what to do: it has a verb
# of the list below, or lists the valid values, or names what shows them; the words of code_detail are
# identifiers. In client/ the words of the texts are checked.
# Texts that clients of duroxide-pg match stay as they are: they are in the list below.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The texts of docs/errors.md that do not change.
kept=(
    'Instance not found: %s'
    'Instance %s is Running. Nothing was deleted'
    'Instance %s is a sub-orchestration: only a root can be deleted, and its parent %s exists'
    'Orphan detected: child %s of %s is not in the list; delete the whole tree together'
    'Duplicate history event: instance %s, execution '
)
printf '%s\n' "${kept[@]}" >"$lint_tmp/kept"

# find_faults KEPT FILE...: file:line:what of each literal that is not in style. Prints the number of
# messages that it has read as "read N" at last.
find_faults() {
    perl -e '
        my %kept = map { chomp; $_ => 1 } do { open my $in, "<", shift @ARGV or die; <$in> };
        my ($file, $text, $read, %used);
        # The literals of a piece of code as one text; undef if it has none.
        sub literal {
            my @parts = $_[0] =~ /"((?:[^"\\]|\\.)*)"/g;
            return @parts ? join("", @parts) : undef;
        }
        sub place { return "$file:" . (1 + (substr($text, 0, $_[0]) =~ tr/\n//)) }
        # The arguments of the call whose parenthesis ends at this position.
        sub arguments {
            my ($at) = @_;
            my ($depth, $begin, @found) = (0, $at);
            pos($text) = $at;
            while ($text =~ /\G(?:"(?:[^"\\]|\\.)*"|([(\[{])|([)\]}])|(,)|[^"()\[\]{},]+)/gc) {
                if (defined $1) { $depth++ }
                elsif (defined $2) {
                    if ($depth-- == 0) {
                        push @found, substr($text, $begin, pos($text) - 1 - $begin);
                        return @found;
                    }
                } elsif (defined $3 && $depth == 0) {
                    push @found, substr($text, $begin, pos($text) - 1 - $begin);
                    $begin = pos($text);
                }
            }
            return ();
        }
        sub primary {
            my ($at, $message) = @_;
            return unless defined $message;
            $read++;
            if ($kept{$message}) { $used{$message} = 1; return }
            print place($at), ":message does not begin in lower case: $message\n" if $message =~ /^[A-Z]/;
            print place($at), ":message ends with a period: $message\n" if $message =~ /[.!]$/ && $message !~ /\.\.\.$/;
            print place($at), ":message says $1: $message\n" if $message =~ /\b(unknown|illegal|bad|cannot be found|not found)\b/i;
            print place($at), ":message has two sentences: $message\n" if $message =~ /[a-z]\. [A-Z]/;
        }
        my $verb = qr/(?:Add|Ask|Attach|Begin|Call|CALL|Cancel|Cast|Change|Check|Choose|Commit|Confirm|Connect|Continue|Correct|Create|Delete|Discard|Distribute|Do not|Do nothing|Drop|End|Finish|Give|Hold|Increase|Install|Keep|Leave|Let|List|Look|Make|Move|Name|Narrow|Pass|Pause|Put|Raise|Read|Receive|Remove|Rename|Repair|Repeat|RESET|Restart|Restore|Resume|Revoke|Save|Say|See|Send|Set|Stop|Store|Suspend|Undo|Use|Wait|Write)\b/;
        sub instructs {
            my ($hint) = @_;
            return $hint =~ /(?:^|\. )$verb/                              # Pass an interval.
                || $hint =~ /(?:^If [^.]*,|\. If [^.]*,|\. Else) (\w+)/ && ucfirst($1) =~ /^$verb/  # If it stays, restart the server.
                || $hint =~ /^[A-Z][a-z ]+ are (?:[^ ]+, )*[^ ]+ (?:and|or) |^[A-Z][a-z]+ are %s\.$/   # States are open and closed.
                || $hint =~ /\b(?:lists|shows)\b/;                        # list_instances shows the instances.
        }
        sub sentence {
            my ($at, $kind, $sentence) = @_;
            return if !defined $sentence || $sentence eq "%s";
            $read++;
            print place($at), ":hint does not say what to do: $sentence\n" if $kind eq "hint" && !instructs($sentence);
            # A name of belay may begin one.
            print place($at), ":$kind does not begin as a sentence: $sentence\n"
                if $sentence !~ /^(?:[A-Z0-9%]|\\"|[a-z]+[_.][a-z_]+)/;
            print place($at), ":$kind does not end as a sentence: $sentence\n" if $sentence !~ /[.?)]$/;
        }
        sub word {
            my ($at, $word) = @_;
            return unless defined $word;
            $read++;
            print place($at), ":code_detail is no identifier: $word\n" if $word !~ /^[a-z][a-z0-9_]*$/;
        }
        for my $name (@ARGV) {
            $file = $name;
            open my $in, "<", $file or die "$file: $!\n";
            $text = do { local $/; <$in> };
            $text =~ s{//[^\n]*}{my $t = $&; $t =~ s/[^\n]/ /g; $t}ge if $text !~ m{"[^"\n]*//[^"\n]*"};
            while ($text =~ /\b(errmsg|errdetail|errhint|raise|raise_invalid|Facts)\(/g) {
                my ($call, $at) = ($1, pos($text));
                my @given = arguments($at);
                pos($text) = $at;
                if ($call eq "errmsg") { primary($at, $given[0] =~ /^\s*"/ ? literal($given[0]) : undef) if @given }
                elsif ($call eq "errdetail" || $call eq "errhint") {
                    # Of a text with numbers between its pieces only the first is seen.
                    sentence($at, $call eq "errhint" ? "hint" : "detail", $given[0] =~ /^\s*"/ && $given[0] !~ /FORMAT/ ? literal($given[0]) : undef) if @given;
                }
                elsif ($call eq "Facts") { word($at, $given[0] =~ /^\s*"/ ? literal($given[0]) : undef) if @given }
                elsif (@given == 4) {
                    my ($message, $hint) = $call eq "raise" ? @given[1, 3] : @given[2, 3];
                    word($at, literal($given[0])) if $call eq "raise_invalid" && $given[0] =~ /^\s*"/;
                    my @parts = $message =~ /psprintf\(/ ? ($message =~ /psprintf\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)/) : ($message);
                    primary($at, literal($parts[0])) if @parts && $parts[0] =~ /^\s*"/;
                    sentence($at, "hint", literal($hint)) if $hint =~ /^\s*"/;
                }
            }
        }
        print "test/lint/error_style.sh:1:no source has the kept text: $_\n" for grep { !$used{$_} } sort keys %kept;
        print "read ", $read // 0, "\n";
    ' "$lint_tmp/kept" "$@"
}

found=$(find_faults src/**/*.[ch]pp)
read -r _ count <<<"${found##*$'\n'}"
((count > 300)) || complain src/pg/errors.hpp:1 "has no messages that this lint can read"
complain_each "not in style" < <(sed '$d' <<<"$found" | sed 's/:message /: message /')

# The texts of the client library and of the tool: literals of several words, outside of comments.
# shellcheck disable=SC2016  # Perl expands.
complain_each "not in style" < <(
    find client -name test -prune -o -name '*.[ch]pp' -print | sort | xargs perl -ne '
        next if m{^\s*//};
        while (/"((?:[^"\\]|\\.)*)"/g) {
            my $text = $1;
            print "$ARGV:$.: message says $2: $text\n" if $text =~ /^(?=.* ).*\b((unknown|illegal|malformed|bad|cannot be found|not found))\b/i;
        }
        close ARGV if eof'
)
verdict
