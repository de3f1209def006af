package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.ptx.SpecialRegister;

/** What a call of a Java method means on the device. */
public sealed interface Meaning {

  /** One operation on the arguments. */
  record OfOp(Op op) implements Meaning {}

  /** The bits of the argument as another type. */
  record OfBits() implements Meaning {}

  /** A special register. */
  record OfRegister(SpecialRegister register) implements Meaning {}

  /** A shared array; the argument is its length. */
  record OfShared(Element element) implements Meaning {}

  /** The dynamic shared array. */
  record OfDynamicShared(Element element) implements Meaning {}

  /** The two words in which the blocks of a cooperative launch count arrivals, as an array. */
  record OfGridWorkspace(Intrinsic address) implements Meaning {}

  /** An operation of {@link Atomics} on an element of an array. */
  record OfAtomic(String operation) implements Meaning {}

  /** Formatted output. */
  record OfPrint() implements Meaning {}

  /** Instructions of the table. */
  record OfInstructions(Intrinsic intrinsic) implements Meaning {}

  /** Instructions that divide by the second argument, an integer. */
  record OfDivision(Intrinsic intrinsic) implements Meaning {}

  /** A clamp to the bounds that are the second and third argument. */
  record OfClamp(OfLibrary method) implements Meaning {}

  /**
   * A method of the same name and descriptor in another class, which is inlined.
   *
   * @param owner internal name of the class
   */
  record OfLibrary(String owner) implements Meaning {}
}
