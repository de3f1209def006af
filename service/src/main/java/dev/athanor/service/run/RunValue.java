package dev.athanor.service.run;

import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.TensorType;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A tensor that a run reads or produces. */
final class RunValue {
  private final TensorType type;
  private final @Nullable String handle;
  private @Nullable DeviceTensor tensor;

  /** The last step that produces or reads it; -1 for none. */
  private int lastUse = -1;

  private boolean isOutput;

  /** Creates the value of an inline input or of an output. */
  RunValue(TensorType type) {
    this(type, null);
  }

  /**
   * @param handle the handle of a resident tensor, else null
   */
  RunValue(TensorType type, @Nullable String handle) {
    this.type = type;
    this.handle = handle;
  }

  TensorType type() {
    return type;
  }

  /** Returns the handle of a resident tensor, also if the request has its name; null for others. */
  @Nullable String handle() {
    return handle;
  }

  /** Returns the device tensor if memory has been assigned to this value. */
  Optional<DeviceTensor> present() {
    return Optional.ofNullable(tensor);
  }

  DeviceTensor tensor() {
    return Objects.requireNonNull(tensor);
  }

  /** Assigns device memory to this value. */
  void setTensor(DeviceTensor assigned) {
    tensor = assigned;
  }

  int lastUse() {
    return lastUse;
  }

  /** Records that a step produces or reads it. */
  void useIn(int step) {
    lastUse = step;
  }

  boolean isOutput() {
    return isOutput;
  }

  void setOutput() {
    isOutput = true;
  }
}
