package dev.athanor.service.device;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Device memory that a run allocates and frees at its end, except what it keeps. */
public final class Scratch {

  private final DeviceMemory memory;
  private final List<Buffer> taken = new ArrayList<>();

  public Scratch(DeviceMemory memory) {
    this.memory = memory;
  }

  /** Allocates memory. */
  public Buffer take(long bytes) {
    var buffer = memory.allocate(bytes);
    taken.add(buffer);
    return buffer;
  }

  /** Allocates a tensor. */
  public DeviceTensor tensor(TensorType type) {
    return new DeviceTensor(type, take(type.bytes()));
  }

  /** Allocates the workspace of a plan, if it needs one. */
  public Optional<Buffer> workspace(Plan plan) {
    long bytes = plan.workspaceBytes();
    return bytes == 0 ? Optional.empty() : Optional.of(take(bytes));
  }

  /** Frees memory in stream order, if this run has allocated it. */
  public void release(Buffer buffer, Stream stream) {
    if (taken.contains(buffer)) {
      memory.free(buffer, stream);
      taken.remove(buffer);
    }
  }

  /** Passes ownership of memory to the caller. */
  public void keep(Buffer buffer) {
    taken.remove(buffer);
  }

  /** Frees all remaining memory, which no work may still use. */
  public void free() {
    taken.forEach(memory::free);
    taken.clear();
  }
}
