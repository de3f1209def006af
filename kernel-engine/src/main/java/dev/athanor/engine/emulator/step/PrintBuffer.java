package dev.athanor.engine.emulator.step;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * The output of a launch, in the order of its blocks. Holds as much as CUDA's buffer does by
 * default; further output is counted and dropped, whichever block runs first. Thread-safe.
 */
public final class PrintBuffer {

  /** Maximum size of the output of a launch, in bytes. */
  static final int CAPACITY = 1 << 20;

  private final TreeMap<Long, List<byte[]>> blocks = new TreeMap<>();
  private long bytes;
  private long dropped;

  /** The block from which on output is dropped. */
  private long full = Long.MAX_VALUE;

  /** Adds the output of one call. */
  synchronized void add(long block, byte[] text) {
    if (block >= full) {
      dropped++;
      return;
    }
    blocks.computeIfAbsent(block, _ -> new ArrayList<>()).add(text);
    bytes += text.length;
    while (bytes > CAPACITY) {
      dropLast();
    }
  }

  private void dropLast() {
    var last = blocks.lastEntry();
    full = last.getKey();
    bytes -= last.getValue().removeLast().length;
    dropped++;
    if (last.getValue().isEmpty()) {
      blocks.remove(last.getKey());
    }
  }

  /** Passes the output on, if there is any. */
  public synchronized void deliver(Consumer<String> to) {
    if (blocks.isEmpty() && dropped == 0) {
      return;
    }
    var all = new ByteArrayOutputStream();
    blocks.values().forEach(texts -> texts.forEach(all::writeBytes));
    var text = all.toString(StandardCharsets.UTF_8);
    if (dropped > 0) {
      text +=
          "%s[printf buffer full: a launch keeps %d bytes; the output of %d calls was dropped]%n"
              .formatted(text.isEmpty() || text.endsWith("\n") ? "" : "\n", CAPACITY, dropped);
    }
    to.accept(text);
  }
}
