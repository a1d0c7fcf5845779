#!/usr/bin/env bash
# Pictures of the dashboard are at most 150 kB, and each is used by a page. Drawings of docs/ can be
# read on light and dark pages, and by those who do not see them: each has a title and a description,
# scales, fetches nothing from elsewhere, and gives every class of shapes and texts that it colours a
# colour in both schemes.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# shellcheck disable=SC2016  # The variables are Perl's.
while IFS= read -r found; do
    complain "${found%%: *}" "${found#*: }"
done < <(printf '%s\n' docs/pictures/*.svg | xargs -r perl -0777 -e '
    for my $file (@ARGV) {
        open my $in, "<", $file or die "$file: $!";
        my $svg = <$in>;
        my $say = sub { print "$file:1: @_\n" };
        $say->("has no <title> and <desc>") unless $svg =~ /<title/ && $svg =~ /<desc/;
        $say->("has no viewBox") unless $svg =~ /<svg[^>]*viewBox=/;
        $say->("fetches something from elsewhere") if $svg =~ /<image|href="(?!#)|url\((?!#)|\@import/;
        $say->("colours something outside its styles") if $svg =~ /\s(fill|stroke)="(?!none)/;
        my ($style) = $svg =~ m{<style>(.*?)</style>}s or do { $say->("has no styles"); next };
        my $dark = $style =~ s/\@media \(prefers-color-scheme: dark\) \{(.*?\})\s*\}//s ? $1 : "";
        for my $class (split " ", join " ", $svg =~ /class="([^"]*)"/g) {
            next if $seen{$file}{$class}++;
            my ($light) = $style =~ /\.\Q$class\E \{([^}]*)\}/ or do { $say->("class $class has no style"); next };
            for my $property ("fill", "stroke") {
                next unless $light =~ /\b$property: #/;
                $say->("class $class has no $property for dark pages") unless $dark =~ /\.\Q$class\E \{[^}]*\b$property: #/;
            }
        }
        $say->("texts have no colour for dark pages") unless $dark =~ /\btext \{[^}]*fill: #/;
    }' || echo "pictures.sh:1: the check itself failed")
pages=(README.md docs/*.md)
for picture in docs/pictures/*.png; do
    [[ -e $picture ]] || continue
    (($(stat -c %s "$picture") <= 150000)) || complain "$picture:1" "is larger than 150 kB"
    grep -qF "pictures/$(basename "$picture")" "${pages[@]}" || complain "$picture:1" "is used by no page"
done
verdict
