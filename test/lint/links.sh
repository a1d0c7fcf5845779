#!/usr/bin/env bash
# No dead links: what a page links to inside the checkout exists, headings included, and every page
# and picture of docs/ can be reached from README.md. Nothing is said about addresses elsewhere.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# shellcheck disable=SC2016  # The variables are Perl's.
while IFS= read -r found; do
    complain "${found%%: *}" "${found#*: }"
done < <(find . \( -path ./.git -o -path ./build \) -prune -o -name '*.md' -print | sed 's|^\./||' | sort | xargs perl -e '
    use strict;
    my (%anchors, %links);

    for my $page (@ARGV) {
        open my $in, "<", $page or die "$page: $!";
        my ($fence, %seen) = ("");
        $anchors{$page} = {};
        while (my $text = <$in>) {
            if ($fence) {
                $fence = "" if $text =~ /^\s*\Q$fence\E\s*$/;
                next;
            }
            if ($text =~ /^\s*(```+|~~~+)/) {
                $fence = $1;
                next;
            }
            if ($text =~ /^#+\s+(.*?)\s*#*$/) {
                # As the hosts of repositories make it: words in small letters, without punctuation.
                my $slug = lc $1;
                $slug =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
                $slug =~ s/[^\w\s-]//g;
                $slug =~ s/\s/-/g;
                $slug .= "-" . ($seen{$slug} - 1) if $seen{$slug}++;
                $anchors{$page}{$slug} = 1;
            }
            $anchors{$page}{$1} = 1 while $text =~ /<a (?:id|name)="([^"]+)"/g;
            $text =~ s/`[^`]*`/`/g;
            push @{$links{$page}}, [$., $1] while $text =~ /\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"]*")?\s*\)/g;
            push @{$links{$page}}, [$., $1] while $text =~ /\b(?:src|srcset|href)="([^"]+)"/g;
            push @{$links{$page}}, [$., $1] if $text =~ /^\[[^\]]+\]:\s+(\S+)/;
        }
    }

    # normal DIRECTORY PATH: without . and .., or nothing if it leaves the checkout.
    sub normal {
        my @out;
        for my $part (split m{/}, "$_[0]/$_[1]") {
            next if $part eq "" || $part eq ".";
            if ($part eq "..") { return undef unless @out; pop @out } else { push @out, $part }
        }
        return join "/", @out;
    }

    my %targets;
    for my $page (sort keys %links) {
        my $directory = $page =~ m{^(.*)/} ? $1 : "";
        for (@{$links{$page}}) {
            my ($line, $link) = @$_;
            next if $link =~ /^[a-z][a-z0-9+.-]*:/i;
            my ($path, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
            my $target = $path eq "" ? $page : normal($directory, $path);
            if (!defined $target || !-e $target) {
                print "$page:$line: dead link $link\n";
                next;
            }
            $targets{$page}{$target} = 1;
            next unless defined $anchor && $anchors{$target};
            print "$page:$line: no heading for $link\n" unless $anchors{$target}{$anchor};
        }
    }

    my (%reached, @todo) = ();
    push @todo, "README.md";
    while (defined(my $page = shift @todo)) {
        next if $reached{$page}++;
        push @todo, keys %{$targets{$page}};
    }
    for my $file (glob("docs/*.md docs/pictures/*")) {
        print "$file:1: no way from README.md leads here\n" unless $reached{$file};
    }' || echo "links.sh:1: the check itself failed")
verdict
