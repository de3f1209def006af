# Becomes the Java process. The scripts that read this file set
#   launch   this file
#   java     the program
#   jar      the application
#   natives  the folder of JCuda's libraries; empty if JCuda unpacks them itself
#   home     the folder that takes the ahead-of-time cache (JEP 514): loaded classes and their profiles

# By default glibc keeps freed memory. These settings map large blocks one by one; TrimNativeHeapInterval returns the rest.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-4}" MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_:-1048576}"

# Without a locale, as in a container, the JVM would print ? for every character beyond ASCII.
case "${LC_ALL:-${LC_CTYPE:-${LANG:-C}}}" in
C | POSIX) encoding="-Dstdout.encoding=UTF-8 -Dstderr.encoding=UTF-8" ;;
*) encoding= ;;
esac

# run OPTION ARGUMENT...: OPTION is one more for the JVM.
run() {
  option=$1
  shift
  set -- -jar "$jar" "$@"
  [ -z "$natives" ] || set -- "-Djava.library.path=$natives" "$@"
  [ "$prepare" != later ] || set -- "-Ddev.athanor.launch=$launch" "$@"
  # A process without memory exits, since some of its threads may be gone. The unsafe memory access is that of
  # Protocol Buffers. A cache of another JVM or jar is ignored in silence.
  exec ${clean:-} "$java" "$option" -XX:+UseCompactObjectHeaders -XX:+ExitOnOutOfMemoryError \
    -XX:TrimNativeHeapInterval=10000 -Xlog:aot=off -Xlog:cds=off \
    --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow $encoding "$@"
}

# When the first start of the service creates the cache: once the service is ready, which then runs this file with
# ATHANOR_CACHE_ONLY set; or now, if the service is only checked.
cache=$home/athanor.aot
prepare=
if [ "${1:-}" = serve ] && [ ! -e "$cache" ] && [ -w "$home" ]; then
  prepare=later
  for argument in "$@"; do
    case $argument in
    --check) prepare=now ;;
    -h | --help | -V | --version)
      prepare=
      break
      ;;
    esac
  done
fi

if [ "$prepare" = now ]; then
  echo "Preparing faster starts; this happens once." >&2
  new=$cache.$$
  for old in "$cache".[0-9]*; do # left by a preparation that was killed
    owner=${old#"$cache".}
    kill -0 "${owner%%.*}" 2>/dev/null || rm -f "$old"
  done
  # A service on the emulator, without the settings and the environment of this one, which keeps the processor if it needs it.
  (
    cd "$home"
    clean="env -i"
    ! command -v nice >/dev/null || clean="nice -n 19 $clean"
    run "-XX:AOTCacheOutput=$new" serve --check --train --device emulator --port 0 --grpc-port 0
  ) >/dev/null 2>&1 &
  training=$!
  # The JVM writes the cache in a process of its own. SIGTERM would make it write the cache first.
  stop() {
    children=$(ps -A -o pid= -o ppid= 2>/dev/null | awk -v parent="$training" '$2 == parent {print $1}')
    kill -KILL "$training" $children 2>/dev/null || :
    wait "$training" 2>/dev/null || :
    rm -f "$new" "$new".*
    exit "$1"
  }
  trap 'stop 129' HUP
  trap 'stop 130' INT
  trap 'stop 143' TERM
  wait "$training" || : >"$new" # so that what failed is not tried again
  trap - HUP INT TERM
  mv "$new" "$cache"
  rm -f "$new".*
fi
[ -z "${ATHANOR_CACHE_ONLY:-}" ] || exit 0
[ "$prepare" != later ] || export java jar natives home

if [ -s "$cache" ]; then
  run "-XX:AOTCache=$cache" "$@"
else
  run -XX:AOTMode=off "$@"
fi
