package dev.athanor.engine.emulator.step;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * What the blocks of a launch print, in the order of their numbers. It holds as much as CUDA's
 * buffer does by default; what comes behind is counted and dropped, the same whichever block runs
 * first. Several workers use it.
 */
public final class PrintBuffer {

  /** The bytes that are kept of a launch. */
  static final int CAPACITY = 1 << 20;

  private final TreeMap<Long, List<byte[]>> blocks = new TreeMap<>();
  private long bytes;
  private long dropped;

  /** The block at which, and behind which, nothing more is kept. */
  private long full = Long.MAX_VALUE;

  /** Adds what a call of a block's thread prints. */
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

  /** Hands on what was printed, if anything was. */
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
