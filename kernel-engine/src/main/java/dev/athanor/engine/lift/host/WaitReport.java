package dev.athanor.engine.lift.host;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Says which threads of a block wait where. */
final class WaitReport {

  private WaitReport() {}

  /** Returns a phrase such as "lanes 0-15 wait at blockSum (Foo.java:12)", by warps. */
  static String of(ThreadBlock block) {
    var phrases = new ArrayList<String>();
    int warps = Math.ceilDiv(block.size(), GpuThread.LANES);
    int first = 0;
    for (int warp = 0; warp < warps; warp++) {
      var lanes = lanes(block, warp);
      if (warp + 1 == warps || !lanes.equals(lanes(block, warp + 1))) {
        if (!lanes.isEmpty()) {
          phrases.add(warps == 1 ? lanes : range("warp", first, warp) + ": " + lanes);
        }
        first = warp + 1;
      }
    }
    return String.join("; ", phrases);
  }

  private static String lanes(ThreadBlock block, int warp) {
    int start = warp * GpuThread.LANES;
    int end = Math.min(start + GpuThread.LANES, block.size());
    List<String> phrases = new ArrayList<>();
    int first = start;
    for (int thread = start; thread < end; thread++) {
      var site = block.waitsAt(thread);
      if (thread + 1 == end || !same(site, block.waitsAt(thread + 1))) {
        if (site != null) {
          phrases.add(
              "%s%s at %s"
                  .formatted(
                      range("lane", first - start, thread - start),
                      phrases.isEmpty() ? first == thread ? " waits" : " wait" : "",
                      site));
        }
        first = thread + 1;
      }
    }
    return String.join(", ", phrases);
  }

  private static boolean same(@Nullable CallSite one, @Nullable CallSite other) {
    return one == null ? other == null : one.equals(other);
  }

  private static String range(String what, int first, int last) {
    return first == last ? what + " " + first : "%ss %d-%d".formatted(what, first, last);
  }
}
