#!/bin/sh
# Builds the wheel into target/, installs it into a virtual environment there, and tests it against the service's
# jar; a release builds it even if tests are skipped. Maven calls this with the time that the wheel's entries get, such as 2026-01-01T00:00:00Z.
set -eu
cd "$(dirname "$0")"

skip() { # skip REASON
  line=$(printf '%72s' '' | tr ' ' '*')
  printf '%s\n* The Python client was neither built nor tested:\n* %s\n%s\n' "$line" "$1" "$line" >&2
  exit 0
}

case "${SKIP_TESTS:-}" in
*true*) tested= ;;
*) tested=true ;;
esac
if [ "${RELEASE:-}" != true ]; then
  [ "$tested" ] || exit 0
  [ "${THOROUGH:-}" = true ] || skip "./mvnw verify -Dathanor.thorough does both."
fi
command -v python3 >/dev/null || skip "python3 is not installed (Debian, Ubuntu: apt-get install python3-venv)."
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "$(python3 --version) is older than 3.10."
python3 -c 'import ensurepip, venv' 2>/dev/null ||
  skip "python3 has no module venv (Debian, Ubuntu: apt-get install python3-venv)."

# A finished environment is used again as long as the requirements are the same.
venv=target/venv
stamp=$(python3 --version | cat - pyproject.toml)
if [ ! -f "$venv/stamp" ] || [ "$(cat "$venv/stamp")" != "$stamp" ]; then
  python3 -m venv --clear "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --retries 2 \
    'flit_core >=3.12,<5' 'grpcio >=1.60' 'httpx >=0.27,<1' 'numpy >=1.26' 'protobuf >=4.25' ||
    skip "pip could not install flit_core, grpcio, httpx, numpy and protobuf."
  echo "$stamp" >"$venv/stamp"
fi

python=$venv/bin/python
export PYTHONPYCACHEPREFIX="$PWD/target/pycache"
SOURCE_DATE_EPOCH=$("$python" -c 'import sys, datetime
print(int(datetime.datetime.fromisoformat(sys.argv[1].replace("Z", "+00:00")).timestamp()))' "$1")
export SOURCE_DATE_EPOCH

rm -f target/*.whl
pip() {
  "$python" -m pip -q --disable-pip-version-check "$@" --no-index --no-deps
}
pip wheel --no-build-isolation -w target .
[ "$tested" ] || exit 0
pip install --force-reinstall target/*.whl
exec "$python" -m unittest
