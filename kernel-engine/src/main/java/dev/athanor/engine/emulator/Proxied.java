package dev.athanor.engine.emulator;

/** The memory of which a proxy fence makes accesses known to what goes on beside the threads. */
enum Proxied {
  SHARED,
  GLOBAL
}
