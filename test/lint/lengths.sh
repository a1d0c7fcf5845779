#!/usr/bin/env bash
# C++ of src and client: a file begins with a comment that says what it is for, has at most 700
# lines, a header for applications (client/include) at most 400, and a function at most 80.
# SQL has no limit: the tables of a hub are one step, in one file (decision 743).
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

most_lines=700
most_of_header=400
most_of_function=80

# What is not there yet. The lists only shrink: one that is no longer needed is a complaint, too.
long_files='
'
# file:function
long_functions='
'
headless_files='
'

# lengths FILE...: a line "kind file:line name lines" for each file without a head, and for each file
# and function that is too long. Comments, strings and preprocessor lines do not count as code, only
# as lines.
lengths() {
    perl -e '
        my ($most_lines, $most_of_function) = splice @ARGV, 0, 2;
        for my $file (@ARGV) {
            open my $in, "<", $file or die "$file: $!\n";
            my $text = do { local $/; <$in> };
            my $lines = ($text =~ tr/\n//);
            print "head $file:1 $file $lines\n" if $text !~ m{^//};
            print "file $file:1 $file $lines\n" if $lines > $most_lines;
            $text =~ s{ //[^\n]* | /\*.*?\*/ | R"(\w*)\(.*?\)\1" | "(?:[^"\\\n]|\\.)*"
                        | (?<!\w)\x27(?:[^\x27\\\n]|\\.)+\x27 }
                      { my $t = $&; $t =~ s/[^\n]/ /g; $t }gsex;
            $text =~ s{^[ \t]*#(?:[^\n]*\\\n)*[^\n]*}{ my $t = $&; $t =~ s/[^\n]/ /g; $t }gme;
            # Blocks, each with what it is: a scope has functions, all within a function is part of it.
            my (@open, $begin, $line);
            ($begin, $line) = (0, 1);
            while ($text =~ /([{};\n])/g) {
                my ($c, $at) = ($1, pos($text) - 1);
                if ($c eq "\n") { $line++; next; }
                if ($c eq "{") {
                    my $head = substr($text, $begin, $at - $begin);
                    my $above = ($head =~ s/^\s+//r);
                    my $first = $line - ($above =~ tr/\n//);
                    my $bare = ($above =~ s/\boperator\s*\S+?(?=\()/operator/r);
                    my $kind = "block";
                    if (!grep { $_->[0] ne "scope" } @open) {
                        if ($bare !~ /^[^=]*\(/ || $bare =~ /^extern\s*$/) {
                            $kind = $bare =~ /\b(namespace|struct|class|union|extern)\b/ ? "scope" : "block";
                        } else {
                            $kind = "function";
                        }
                    }
                    my ($name) = $bare =~ /([\w~]+)\s*\(/;
                    push @open, [$kind, $first, $name // ""];
                } elsif ($c eq "}" && @open) {
                    my ($kind, $first, $name) = @{pop @open};
                    my $length = $line - $first + 1;
                    print "function $file:$first $name $length\n"
                        if $kind eq "function" && $length > $most_of_function;
                }
                $begin = $at + 1;
            }
        }' "$most_lines" "$most_of_function" "$@"
}

# excused KIND LIST WHAT: whether the list has it; notes that it was needed.
declare -A needed=()
excused() {
    [[ $2 == *$'\n'"$3"$'\n'* ]] || return
    needed[$1:$3]=yes
}

while read -r kind place name lines; do
    file=${place%:*}
    case $kind in
        head)
            excused head "$headless_files" "$file" ||
                complain "$place" "begins without a comment that says what the file is for"
            ;;
        file)
            excused file "$long_files" "$file" ||
                complain "$place" "has $lines lines; at most $most_lines"
            ;;
        function)
            excused function "$long_functions" "$file:$name" ||
                complain "$place" "$name has $lines lines; at most $most_of_function"
            ;;
    esac
done < <(lengths src/**/*.[ch]pp client/{examples,include,runtime,src,tool}/**/*.[ch]pp)

for file in client/include/**/*.hpp; do
    lines=$(wc -l <"$file")
    ((lines <= most_of_header)) || complain "$file:1" "has $lines lines; a header for applications at most $most_of_header"
done

for file in $long_files; do
    [[ -n ${needed[file:$file]:-} ]] || complain "test/lint/lengths.sh:1" "long_files need not name $file"
done
for function in $long_functions; do
    [[ -n ${needed[function:$function]:-} ]] || complain "test/lint/lengths.sh:1" "long_functions need not name $function"
done
for file in $headless_files; do
    [[ -n ${needed[head:$file]:-} ]] || complain "test/lint/lengths.sh:1" "headless_files need not name $file"
done
verdict
