package dev.athanor.engine.lift.ir;

import dev.athanor.engine.ptx.Source;

/**
 * A place where a thread may fault.
 *
 * @param array the name of the array, or {@link #DIVISION}
 */
public record Site(String array, Source source) {
  /** In place of the array: the fault is an integer division by zero. */
  public static final String DIVISION = "/";
}
