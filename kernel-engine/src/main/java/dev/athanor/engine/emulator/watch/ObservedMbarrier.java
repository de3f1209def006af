package dev.athanor.engine.emulator.watch;

/** An mbarrier, as an {@link AsyncObserver} sees it. Its text describes its state. */
public interface ObservedMbarrier {

  /** Returns the name of the mbarrier in messages. */
  String name();

  /** Returns the bytes that were announced and have not arrived; negative = the reverse. */
  int missingBytes();

  /** Returns whether an operation is pending that will signal the mbarrier. */
  boolean hasPendingSignal();
}
