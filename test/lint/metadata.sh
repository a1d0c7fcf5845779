#!/usr/bin/env bash
# META.json is what PGXN asks for, and every file that names the version names the same.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=$(sed -n "s/^default_version = '\(.*\)'$/\1/p" src/sql/belay.control | head -n 1)

# The rules of version 1.0.0 of PGXN's format, as far as we use it.
perl -MJSON::PP -e '
    sub check($$) { my ($true, $what) = @_; print "$what\n" unless $true }
    my $ours = shift;
    open my $in, "<", "META.json" or die "META.json: $!\n";
    my $meta = eval { decode_json(do { local $/; <$in> }) };
    if (ref $meta ne "HASH") { print "no JSON object: $@\n"; exit }
    my $version = qr/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-?[A-Za-z][0-9A-Za-z-]*)?$/;
    my $name = qr{^[^\s/\\\x00-\x1f]{2,}$};
    my $text = sub { my ($of, $key) = @_; defined $of->{$key} && !ref $of->{$key} && length $of->{$key} };
    my %known = map { $_ => 1 } qw(name version abstract maintainer license provides meta-spec description
        generated_by no_index prereqs release_status resources tags);
    for my $key (sort keys %$meta) { check($known{$key} || $key =~ /^[xX]_/, "unknown field $key") }
    check($text->($meta, $_), "no $_") for qw(name version abstract maintainer license);
    check($meta->{name} =~ $name, "bad name $meta->{name}");
    check($meta->{version} =~ $version, "version $meta->{version} is not semantic");
    check($meta->{version} eq $ours, "names version $meta->{version}, src/sql/belay.control $ours");
    check($meta->{license} eq "postgresql", "license $meta->{license} is not ours");
    check($meta->{release_status} =~ /^(stable|testing|unstable)$/, "bad release_status") if exists $meta->{release_status};
    my $spec = $meta->{"meta-spec"};
    check(ref $spec eq "HASH" && $spec->{version} eq "1.0.0", "meta-spec is not 1.0.0");
    my $provides = $meta->{provides};
    check(ref $provides eq "HASH" && exists $provides->{belay}, "provides no belay");
    for my $part (sort keys %{$provides // {}}) {
        my $it = $provides->{$part};
        check($text->($it, "file") && -f $it->{file}, "$part: file $it->{file} does not exist");
        check(!exists $it->{docfile} || -f $it->{docfile}, "$part: docfile $it->{docfile} does not exist");
        check(($it->{version} // "") eq $ours, "$part: version is not $ours");
    }
    for my $phase (sort keys %{$meta->{prereqs} // {}}) {
        check($phase =~ /^(configure|build|test|runtime|develop)$/, "prereqs: unknown phase $phase");
        for my $relation (sort keys %{$meta->{prereqs}{$phase}}) {
            check($relation =~ /^(requires|recommends|suggests|conflicts)$/, "prereqs: unknown relation $relation");
            my $of = $meta->{prereqs}{$phase}{$relation};
            check($of->{$_} eq "0" || $of->{$_} =~ $version, "prereqs: bad version of $_") for sort keys %$of;
        }
    }
    my $tags = $meta->{tags} // [];
    check(ref $tags eq "ARRAY", "tags are no list");
    check(!grep({ ref || !length || length > 256 || m{[/\\\x00-\x1f]} } @$tags), "bad tag");
' "$version" >"$lint_tmp/faults" || complain META.json:1 "cannot be judged: perl failed"
while IFS= read -r text; do
    complain META.json:1 "$text"
done <"$lint_tmp/faults"

# says FILE REGEX: what the group matches is the version, in every line that matches, and there is one.
says() {
    local line text found=no
    while IFS=: read -r line text; do
        found=yes
        text=$(sed -nE "s~^.*$2.*\$~\1~p" <<<"$text")
        [[ $text == "$version" ]] || complain "$1:$line" "names version $text, src/sql/belay.control $version"
    done < <(grep -nE "$2" "$1")
    [[ $found == yes ]] || complain "$1:1" "names no version"
}
says src/sql/belay.control "^default_version = '(.*)'"
says CMakeLists.txt '^project\(belay VERSION ([0-9.]+)'
says src/core/version.hpp '^#define BELAY_VERSION "(.*)"'
says README.md 'Version ([0-9]+[.][0-9]+[.][0-9]+)'
says README.md "grep ([0-9]+[.][0-9]+[.][0-9]+)"
says client/dashboard/test/fake_api.mjs 'library: "([0-9.]+)"'
says docs/install.md 'belay-([0-9]+[.][0-9]+[.][0-9]+)[.]zip'
for page in belay belay-lint; do
    says "client/tool/$page.1" '^[.]TH .* "belay (.*)" "User Commands"'
done
[[ -e src/sql/extension/belay--$version.sql ]] || complain src/sql/belay.control:1 "no script for version $version"
# The newest entry of a changelog comes first.
[[ $(head -n 1 debian/changelog) == "belay ($version) "* ]] || complain debian/changelog:1 "does not begin with version $version"
[[ $(grep -m 1 '^## ' CHANGELOG.md) == "## $version"* ]] || complain CHANGELOG.md:1 "does not begin with version $version"
verdict
