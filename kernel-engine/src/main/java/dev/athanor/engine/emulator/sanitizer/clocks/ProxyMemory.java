package dev.athanor.engine.emulator.sanitizer.clocks;

/** The memory whose accesses a proxy fence makes visible to the async proxy. */
public enum ProxyMemory {
  SHARED(1),
  GLOBAL(2);

  /** The index of the clock that such fences advance; clock 0 covers all accesses. */
  final int clock;

  ProxyMemory(int clock) {
    this.clock = clock;
  }
}
