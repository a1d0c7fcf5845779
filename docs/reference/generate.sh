#!/usr/bin/env bash
# Prints docs/sql-reference.md: sql-reference.md.in, with what the catalog knows in the places that it
# marks. The server has to preload the belay of this checkout; libpq's variables name it:
#
#   test/server.sh --preload -- docs/reference/generate.sh >docs/sql-reference.md.new
#
# Marks stand on lines of their own:
#
#   {{function app.NAME}}            signature with the meaning of each argument (arguments.txt), levels, COMMENT
#   {{function belay.NAME | WHO}}    of schema belay: WHO may call it is said here
#   {{view app.NAME}}                columns with their COMMENTs, levels, COMMENT of the view
#   {{view belay.NAME | WHO}}
#   {{type app.NAME}}                columns of a composite type with their COMMENTs
#   {{internal belay.NAME}}          a row for a function that is not for callers
#   {{settings}}, {{options}}        tables of all settings and hub options (options.txt)
#   {{levels}}                       what each level adds to those below it
#
# Every function, view, type, argument, setting and option has to be shown once, with its meaning; what is
# missing or not known is an error.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

database=belay_reference_$$
createdb "$database"
trap 'dropdb --force "$database"' EXIT
catalog=$(mktemp)
trap 'rm -f "$catalog"; dropdb --force "$database"' EXIT
psql -X -d "$database" -f "$here/catalog.sql" >"$catalog"

perl - "$here" "$catalog" <<'PERL'
use strict;
use warnings;

my ($here, $catalog) = @ARGV;
my (%function, %view, %type, %setting, %option, %shown, %used, @problems);

sub slurp {
    open my $in, "<", $_[0] or die "$_[0]: $!\n";
    local $/;
    return <$in>;
}
for my $record (split /\x1e/, slurp($catalog)) {
    $record =~ s/\A\n+|\n+\z//g;
    my ($kind, $name, @fields) = split /\x1f/, $record, -1;
    next unless defined $name;
    if ($kind eq "function") {
        my ($type, $comment, $levels, $arguments, $result) = @fields;
        if (my $first = $function{$name}) {
            # Forms of one function differ in the types of arguments, and in nothing else.
            my @other = map { [split /\x1c/, $_, -1] } split /\x1d/, $arguments;
            push @problems, "the forms of $name differ" if $comment ne $first->{comment} || @other != @{$first->{arguments}};
            for my $i (0 .. $#other) {
                $first->{arguments}[$i][1] .= " or $other[$i][1]" if $other[$i][1] ne $first->{arguments}[$i][1];
            }
            next;
        }
        $function{$name} = {type => $type, comment => $comment, levels => $levels, result => $result,
                            arguments => [map { [split /\x1c/, $_, -1] } split /\x1d/, $arguments]};
    } elsif ($kind eq "view") {
        my ($comment, $levels, $columns) = @fields;
        $view{$name} = {comment => $comment, levels => $levels,
                        columns => [map { [split /\x1c/, $_, -1] } split /\x1d/, $columns]};
    } elsif ($kind eq "type") {
        my ($comment, $columns) = @fields;
        $type{$name} = {comment => $comment, columns => [map { [split /\x1c/, $_, -1] } split /\x1d/, $columns]};
    } elsif ($kind eq "setting") {
        $setting{$name} = \@fields;
    } elsif ($kind eq "option") {
        $option{$name} = \@fields;
    }
}

# meanings FILE: its lines "name: meaning".
sub meanings {
    my %meaning;
    for (split /\n/, slurp("$here/$_[0]")) {
        next if /^#|^\s*$/;
        my ($name, $text) = /^([\w.]+): (.+)$/ or die "$_[0]: $_\n";
        push @problems, "$_[0]: $name is there twice" if $meaning{$name};
        $meaning{$name} = $text;
    }
    return \%meaning;
}
my $arguments = meanings("arguments.txt");
my $options = meanings("options.txt");

sub meaning {
    my ($function, $argument) = @_;
    for my $key ("$function.$argument", $argument) {
        next unless $arguments->{$key};
        $used{$key} = 1;
        return $arguments->{$key};
    }
    push @problems, "arguments.txt: argument $argument of $function has no meaning";
    return "";
}

sub note {
    my ($name, $known) = @_;
    push @problems, "sql-reference.md.in: $name does not exist" unless $known;
    push @problems, "sql-reference.md.in: $name is there twice" if $shown{$name}++;
    return $known;
}

# wrap TEXT INDENT: breaks a list at commas, to lines of at most 110 columns.
sub wrap {
    my ($text, $indent) = @_;
    my ($out, $line) = ("", "");
    for my $word (split /(?<=,) /, $text) {
        if (length($line) + length($word) + 1 > 110) {
            $out .= "$line\n";
            $line = (" " x $indent) . $word;
        } else {
            $line .= ($line eq "" ? "" : " ") . $word;
        }
    }
    return $out . $line;
}

# plain TEXT: that of a COMMENT or a setting, so that Markdown shows it as it is.
sub plain {
    my $text = shift;
    $text =~ s/&/&amp;/g;
    $text =~ s/</&lt;/g;
    $text =~ s/([*|])/\\$1/g;
    return $text;
}

sub who {
    my ($levels, $who) = @_;
    return "*$who.*" if defined $who;
    return $levels eq "owner" ? "*For the hub's owner only.*" : "*Level $levels.*";
}

sub show_function {
    my ($name, $who) = @_;
    my $f = note($name, $function{$name}) or return "";
    my ($bare) = $name =~ /\.(\w+)$/;
    push @problems, "$name has no COMMENT" if $f->{comment} eq "";
    my @lines;
    for my $a (@{$f->{arguments}}) {
        my ($argument, $type, $default) = @$a;
        push @lines, ["$argument $type" . ($default eq "" ? "" : " = $default"), meaning($bare, $argument)];
    }
    my $width = 0;
    for (@lines) {
        $width = length $_->[0] if length $_->[0] > $width;
    }
    my $text = "#### $bare\n\n```\n" . ($f->{type} eq "procedure" ? "CALL " : "") . "$name(";
    if (@lines) {
        my $n = 0;
        $text .= "\n";
        for (@lines) {
            my $left = $_->[0] . (++$n < @lines ? "," : "");
            $text .= sprintf("    %-*s  -- %s\n", $width + 1, $left, $_->[1]);
        }
    }
    my $result = $f->{result};
    $text .= ")" . ($result eq "" ? "" : wrap(" → $result", 4)) . "\n```\n\n";
    return $text . plain($f->{comment}) . " " . who($f->{levels}, $who) . "\n";
}

sub show_view {
    my ($name, $who) = @_;
    my $v = note($name, $view{$name}) or return "";
    my ($bare) = $name =~ /\.(\w+)$/;
    push @problems, "$name has no COMMENT" if $v->{comment} eq "";
    my $text = "#### $bare\n\nView `$name`. " . plain($v->{comment}) . " " . who($v->{levels}, $who) . "\n\n| column | type | |\n|---|---|---|\n";
    for (@{$v->{columns}}) {
        my ($column, $type, $comment) = @$_;
        push @problems, "$name.$column has no COMMENT" if $comment eq "";
        $text .= "| `$column` | $type | " . plain($comment) . " |\n";
    }
    return $text;
}

sub show_type {
    my ($name) = @_;
    my $t = note($name, $type{$name}) or return "";
    my ($bare) = $name =~ /\.(\w+)$/;
    push @problems, "$name has no COMMENT" if $t->{comment} eq "";
    my $text = "#### $bare\n\nType `$name`. " . plain($t->{comment}) . "\n\n| column | type | |\n|---|---|---|\n";
    for (@{$t->{columns}}) {
        my ($column, $type, $comment) = @$_;
        push @problems, "$name.$column has no COMMENT" if $comment eq "";
        $text .= "| `$column` | $type | " . plain($comment) . " |\n";
    }
    return $text;
}

sub show_settings {
    my $text = "| setting | default | range | who | |\n|---|---|---|---|---|\n";
    for my $name (sort keys %setting) {
        my ($default, $range, $who, $description) = @{$setting{$name}};
        $text .= "| `$name` | $default | $range | $who | " . plain($description) . " |\n";
    }
    return $text;
}

sub show_options {
    my $text = "| option | default | range | |\n|---|---|---|---|\n";
    for my $name (sort keys %option) {
        my ($range, $meaning) = ($options->{$name} // "") =~ /^(.*?) \| (.*)$/;
        push @problems, "options.txt: option $name has no meaning" unless defined $meaning;
        $text .= "| `$name` | $option{$name}[0] | " . ($range // "") . " | " . ($meaning // "") . " |\n";
    }
    return $text;
}

sub show_levels {
    my $text = "| level | gives |\n|---|---|\n";
    my %gives;
    for my $name (sort keys %function, sort keys %view) {
        my $o = $function{$name} // $view{$name};
        next unless $name =~ /^app\.(.*)/;
        my $word = "[`$1`](#$1)" . ($view{$name} ? " (view)" : "");
        push @{$gives{$_}}, $word for split /, /, $o->{levels};
    }
    $text .= "| `$_` | " . join(", ", @{$gives{$_}}) . " |\n" for qw(client worker monitor operator);
    return $text . "| the owner only | " . join(", ", @{$gives{owner}}) . " |\n";
}

my $page = "";
for (split /^/, slurp("$here/sql-reference.md.in")) {
    if (/^\{\{function ([\w.]+)(?: \| (.*))?\}\}$/) {
        $page .= show_function($1, $2);
    } elsif (/^\{\{view ([\w.]+)(?: \| (.*))?\}\}$/) {
        $page .= show_view($1, $2);
    } elsif (/^\{\{type ([\w.]+)\}\}$/) {
        $page .= show_type($1);
    } elsif (/^\{\{internal ([\w.]+)\}\}$/) {
        my $f = note($1, $function{$1});
        $page .= "| `$1` | " . plain($f->{comment}) . " |\n" if $f;
    } elsif (/^\{\{settings\}\}$/) {
        $page .= show_settings();
    } elsif (/^\{\{levels\}\}$/) {
        $page .= show_levels();
    } elsif (/^\{\{options\}\}$/) {
        $page .= show_options();
    } else {
        push @problems, "sql-reference.md.in: no mark: $_" if /\{\{/;
        $page .= $_;
    }
}
# Links name a heading by its words: two of the same words would lead to one place.
my %heading;
for ($page =~ /^#+ (.*)$/mg) {
    (my $slug = lc $_) =~ s/[^a-z0-9 _-]//g;
    push @problems, "sql-reference.md.in: two headings \"$_\"" if $heading{$slug}++;
}
push @problems, map { "sql-reference.md.in: nothing shows $_" } grep { !$shown{$_} } sort(keys %function), sort(keys %view), sort keys %type;
push @problems, map { "arguments.txt: no function has $_" } grep { !$used{$_} } sort keys %$arguments;
push @problems, map { "options.txt: no such option: $_" } grep { !$option{$_} } sort keys %$options;
if (@problems) {
    print STDERR "$_\n" for @problems;
    exit 1;
}
print $page;
PERL
