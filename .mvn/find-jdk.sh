# Sourced by mvnw, athanor and .ci/run: leaves JAVA_HOME at a JDK 25, or says what to install and exits with 1.
# A JAVA_HOME that already names a JDK 25 wins; any other value is replaced.

jdk_feature() { # the feature release of the JDK in folder $1; nothing if it holds no JDK
  [ -x "$1/bin/javac" ] && sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release" 2>/dev/null
}

find_jdk() {
  javac=$(command -v javac) && javac=$(readlink -f "$javac") || javac=
  for jdk in "${JAVA_HOME:-}" "${JAVA_HOME_25_X64:-}" "${JAVA_HOME_25_ARM64:-}" "${javac%/bin/javac}" \
    /usr/lib/jvm/* /opt/java/* /opt/jdk* "$HOME"/.sdkman/candidates/java/* "$HOME"/.jdks/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home; do
    if [ "$(jdk_feature "$jdk")" = 25 ]; then
      JAVA_HOME=$jdk
      export JAVA_HOME
      return 0
    fi
  done
  echo "No JDK 25 was found: install one (Debian 13, Ubuntu: apt-get install openjdk-25-jdk-headless) or point JAVA_HOME at it." >&2
  return 1
}

find_jdk || exit 1
