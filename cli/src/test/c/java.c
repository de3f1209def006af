/* A java.exe for the tests of batch files. Prints JAVA_HOME, the folder and the arguments, and exits with status 7; writes
   the requested ahead-of-time cache, unless the file fail exists; builds, unless BUILD_FAILS is set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char CACHE[] = "-XX:AOTCacheOutput=";

static void print(FILE *out, int argc, char **argv) {
  char folder[1024];
  fprintf(out, "JAVA_HOME=%s\nATHANOR_DEVICE=%s\nfolder=%s\n", getenv("JAVA_HOME"), getenv("ATHANOR_DEVICE"),
          getcwd(folder, sizeof folder));
  for (int i = 1; i < argc; i++) {
    fprintf(out, "[%s]\n", argv[i]);
  }
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], CACHE, sizeof CACHE - 1) == 0) {
      if (access("fail", F_OK) == 0) {
        return 1;
      }
      FILE *cache = fopen(argv[i] + sizeof CACHE - 1, "w");
      print(cache, argc, argv);
      return 0;
    }
    if (strstr(argv[i], "Build.java")) {
      return getenv("BUILD_FAILS") ? 3 : 0;
    }
  }
  print(stdout, argc, argv);
  return 7;
}
