package dev.athanor.service.device;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Device memory that a run takes, and gives back with all else unless somebody keeps it. */
public final class Scratch {

  private final DeviceMemory memory;
  private final List<Buffer> taken = new ArrayList<>();

  public Scratch(DeviceMemory memory) {
    this.memory = memory;
  }

  private Buffer take(long bytes) {
    var buffer = memory.allocate(bytes);
    taken.add(buffer);
    return buffer;
  }

  /** Room for a tensor. */
  public DeviceTensor tensor(TensorType type) {
    return new DeviceTensor(type, take(type.bytes()));
  }

  /** What a plan computes on the way. */
  public Optional<Buffer> workspace(Plan plan) {
    long bytes = plan.workspaceBytes();
    return bytes == 0 ? Optional.empty() : Optional.of(take(bytes));
  }

  /** Frees memory behind the work that uses it, unless it is another's. */
  public void release(Buffer buffer, Stream stream) {
    if (taken.contains(buffer)) {
      memory.free(buffer, stream);
      taken.remove(buffer);
    }
  }

  /** Leaves memory to somebody else. */
  public void keep(Buffer buffer) {
    taken.remove(buffer);
  }

  /** Frees what is left, which no work uses any more. */
  public void free() {
    taken.forEach(memory::free);
    taken.clear();
  }
}
