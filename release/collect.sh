#!/bin/sh
# Usage: collect.sh VERSION TIME. Puts everything to publish into target/release: beside Maven's repository, which
# `deploy` has filled, the wheel, the bundle, the chart, the sources (also the context of the image), the bill of
# materials, and the checksums of all files.
set -eu
version=$1 time=$2
cd "$(dirname "$0")/.."
out=target/release

find $out -mindepth 1 -maxdepth 1 ! -name repository -exec rm -rf {} +
cp clients/python/target/*.whl "cli/target/athanor-$version-linux-x86_64.tar.xz" $out
cp cli/target/classes/META-INF/sbom/application.cdx.json "$out/athanor-$version.cdx.json"
chart=$(sed -n 's/^version: //p' helm/athanor/Chart.yaml)
tar --sort=name --mtime="$time" --owner=0 --group=0 --numeric-owner -C helm -c athanor | gzip -n >"$out/athanor-$chart.tgz"
git archive --format=tar.gz --output="$out/athanor-$version-sources.tar.gz" HEAD
cd $out
find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS
echo "target/release has $(find . -type f | wc -l) files of $(du -sm . | cut -f 1) MB."
