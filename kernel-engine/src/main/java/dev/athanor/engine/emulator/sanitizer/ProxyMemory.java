package dev.athanor.engine.emulator.sanitizer;

/** The memory of which a proxy fence makes accesses known to what goes on beside the threads. */
enum ProxyMemory {
  SHARED(1),
  GLOBAL(2);

  /** Which of the clocks is that of such fences; that of all accesses is 0. */
  final int clock;

  ProxyMemory(int clock) {
    this.clock = clock;
  }
}
