package dev.athanor.engine.layout;

/** What a dimension of a {@link LinearLayout} counts. */
public enum Axis {
  /** The elements that a lane holds. */
  ELEMENT,
  /** The registers that a lane holds. */
  REGISTER,
  LANE,
  WARP,
  BLOCK,
  ROW,
  COLUMN,
  /** Bytes of shared memory. */
  BYTE
}
