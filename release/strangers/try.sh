#!/bin/sh
# Usage: try.sh VERSION JAVA_HOME. Uses target/release as a stranger would, who has neither this checkout nor its build: Maven
# projects for the client, its Spring Boot starter, athanor-junit and the engine; a project that `athanor new` writes; the wheel.
set -eu
version=$1
export JAVA_HOME="$2"
here=$(cd "$(dirname "$0")" && pwd -P)
root=${here%/release/strangers}
release=$root/target/release
work=$root/target/strangers

rm -rf "$work"
mkdir -p "$work"
tar -C "$work" -xf "$release/athanor-$version-linux-x86_64.tar.xz"
athanor=$work/athanor-$version/bin/athanor
log=$work/service.log
ATHANOR_CACHE_ONLY= "$athanor" serve --device emulator --port 0 --grpc-port 0 >"$log" 2>&1 &
service=$!
trap 'kill $service; wait $service || true' EXIT
until grep -q '^Ready\.' "$log"; do
  kill -0 $service || { cat "$log" >&2; exit 1; }
  sleep 0.2
done
url=$(sed -n 's/^ *REST *//p' "$log")
grpc=grpc://$(sed -n 's/^ *gRPC *//p' "$log")

# Artifacts of this build come from the release only, and stay apart from the user's.
mvnw=$root/mvnw
maven() {
  "$mvnw" -B -ntp -q "$@" -Dmaven.repo.local="$work/repository" \
    -Dmaven.repo.local.tail="${MAVEN_USER_HOME:-$HOME/.m2}/repository"
}

echo "The client over HTTP and gRPC on Java 17, the Spring Boot starter, athanor-junit, and the engine in a module:"
cp -R "$here/projects" "$work/projects"
maven -f "$work/projects/pom.xml" verify -Dathanor.version="$version" -Dathanor.repository="file://$release/repository" \
  -Dathanor.url="$url" -Dathanor.grpc="$grpc"

echo "A plugin:"
(cd "$work" && "$athanor" new doubled --package org.example)
mvnw=$work/doubled/mvnw
maven -f "$work/doubled/pom.xml" verify
for jdk in /usr/lib/jvm/*17*; do
  [ -x "$jdk/bin/javac" ] || continue
  maven=$(ls -d "${MAVEN_USER_HOME:-$HOME/.m2}"/wrapper/dists/apache-maven-*/*/bin/mvn | head -n 1)
  ! JAVA_HOME=$jdk "$maven" -B -q -f "$work/doubled/pom.xml" validate >"$work/older.log" 2>&1
  grep -q "A plugin needs JDK 25 or later" "$work/older.log"
done

echo "The wheel:"
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install -q --disable-pip-version-check --retries 2 "$release"/athanor-*.whl
"$work/venv/bin/python" - "$url" <<'PYTHON'
import sys

import athanor
import numpy as np

with athanor.connect(sys.argv[1]) as client:
    w = client.upload(np.eye(2, dtype=np.float32))
    y = client.matmul(np.array([[3, -4]], np.float32), w, activation="relu")
    np.testing.assert_array_equal(y.numpy(), [[3, 0]])
PYTHON
echo "All parts of the release work for a stranger."
