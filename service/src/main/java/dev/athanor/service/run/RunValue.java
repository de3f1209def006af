package dev.athanor.service.run;

import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.move.Layout;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A tensor that a run reads or produces. */
final class RunValue {
  private final TensorType type;
  private final @Nullable String handle;
  private @Nullable DeviceTensor tensor;
  private @Nullable RunValue replaced;

  /** The value of which this one is a view. */
  private final @Nullable RunValue base;

  /** The position of a view in the memory of its base, in bytes. */
  private final long offset;

  /** The layout of a view that is not dense. */
  private final @Nullable Layout layout;

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
    base = null;
    offset = 0;
    layout = null;
  }

  private RunValue(TensorType type, RunValue base, long offset, @Nullable Layout layout) {
    this.type = type;
    handle = base.handle;
    this.base = base;
    this.offset = offset;
    this.layout = layout;
  }

  /**
   * Returns a view of this value.
   *
   * @param at where its memory starts, in bytes
   * @param within its layout from there on
   */
  RunValue view(TensorType viewed, long at, Layout within) {
    return new RunValue(viewed, this, at, within.isDense(viewed.shape()) ? null : within);
  }

  /** Returns the value of which this one is a view; null if it is none. */
  @Nullable RunValue base() {
    return base;
  }

  /** Returns the value whose memory this one is in, or of which it is a view. */
  @Nullable RunValue within() {
    return base == null ? replaced : base;
  }

  /** Returns where this value starts in the memory of {@link #within}, in bytes. */
  long offset() {
    return offset;
  }

  /** Returns the layout of a view that is not dense; null for dense values. */
  @Nullable Layout layout() {
    return layout;
  }

  /** Returns the type of the memory that holds the elements. */
  TensorType memory() {
    return layout == null ? type : layout.range(type.dtype(), type.shape());
  }

  /** Returns whether this value has the elements of its memory in order. */
  boolean isWhole() {
    return layout == null && offset == 0 && (base == null || base.type.bytes() == type.bytes());
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
    return base == null ? Optional.ofNullable(tensor) : base.present().map(this::in);
  }

  DeviceTensor tensor() {
    return base == null ? Objects.requireNonNull(tensor) : in(base.tensor());
  }

  private DeviceTensor in(DeviceTensor all) {
    return new DeviceTensor(memory(), all.buffer(), all.offset() + offset);
  }

  /** Assigns device memory to this value. */
  void setTensor(DeviceTensor assigned) {
    tensor = assigned;
  }

  /** Lets this value take over the memory of one that is not read any more. */
  void replace(RunValue value) {
    replaced = value;
  }

  int lastUse() {
    return lastUse;
  }

  /** Records that a step produces or reads it. */
  void useIn(int step) {
    lastUse = step;
    if (base != null) {
      base.useIn(step);
    }
  }

  boolean isOutput() {
    return isOutput;
  }

  void setOutput() {
    isOutput = true;
  }
}
