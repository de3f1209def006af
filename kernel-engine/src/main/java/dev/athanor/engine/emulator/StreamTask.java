package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Launch;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Consumer;

/**
 * A validated task of a stream; it may run at any time while its buffers are open. Created within
 * {@link EmulatedDevice#use}.
 */
record StreamTask(List<Buffer> buffers, Consumer<LastLaunch> task) {

  /** See {@link EmulatedStream#copy}. */
  static StreamTask copy(
      EmulatedDevice device,
      Buffer source,
      long sourceOffset,
      Buffer target,
      long targetOffset,
      long bytes) {
    var from = range(device, source, sourceOffset, bytes);
    var to = range(device, target, targetOffset, bytes);
    if (source.equals(target) && Math.abs(sourceOffset - targetOffset) < bytes) {
      throw new IllegalArgumentException(
          "the ranges of a copy overlap: %d bytes from %d and from %d of %s"
              .formatted(bytes, sourceOffset, targetOffset, source));
    }
    var known = device.own(source).defined();
    var fresh = device.own(target).defined();
    return new StreamTask(
        List.of(source, target),
        last -> {
          last.clear();
          to.copyFrom(from);
          if (known != null && fresh != null) {
            fresh.copyRange(known, sourceOffset, targetOffset, bytes);
          }
        });
  }

  /** See {@link EmulatedStream#fill}. */
  static StreamTask fill(
      EmulatedDevice device, Buffer target, long offset, long bytes, byte value) {
    var to = range(device, target, offset, bytes);
    var allocation = device.own(target);
    return new StreamTask(
        List.of(target),
        last -> {
          last.clear();
          to.fill(value);
          allocation.define(offset, bytes);
        });
  }

  /** See {@link EmulatedStream#launch}. */
  static StreamTask launch(EmulatedDevice device, Launch launch) {
    return new StreamTask(launch.buffers(), device.prepare(launch));
  }

  /** Returns the bytes of a range of an open buffer. */
  static MemorySegment range(EmulatedDevice device, Buffer buffer, long offset, long bytes) {
    var allocation = device.own(buffer);
    allocation.requireRange(offset, bytes);
    return allocation.segment().asSlice(offset, bytes);
  }
}
