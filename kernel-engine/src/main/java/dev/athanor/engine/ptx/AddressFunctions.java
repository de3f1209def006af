package dev.athanor.engine.ptx;

/** The lane functions of {@code cvta}, {@code isspacep} and {@code createpolicy}. */
final class AddressFunctions {

  /** The block's own shared memory ends here; beyond lies that of the cluster's other blocks. */
  private static final long OWN_SHARED = 1 << 24;

  /** How many arrivals the state of an mbarrier awaits. */
  static int pendingCount(long state) {
    return MbarrierState.pending(state);
  }

  private AddressFunctions() {}

  static long genericOfShared(long a) {
    return a + Window.SHARED.start();
  }

  static long sharedOfGeneric(long a) {
    return a - Window.SHARED.start();
  }

  static long genericOfLocal(long a) {
    return a + Window.LOCAL.start();
  }

  static long localOfGeneric(long a) {
    return a - Window.LOCAL.start();
  }

  static long genericOfParameter(long a) {
    return a + Window.PARAMETERS.start();
  }

  static long parameterOfGeneric(long a) {
    return a - Window.PARAMETERS.start();
  }

  static long genericOfConstant(long a) {
    return a + Window.CONSTANTS.start();
  }

  static long constantOfGeneric(long a) {
    return a - Window.CONSTANTS.start();
  }

  static boolean isShared(long a) {
    return Window.SHARED.has(a);
  }

  static boolean isOwnShared(long a) {
    return Window.SHARED.has(a) && a - Window.SHARED.start() < OWN_SHARED;
  }

  static boolean isLocal(long a) {
    return Window.LOCAL.has(a);
  }

  static boolean isParameter(long a) {
    return Window.PARAMETERS.has(a);
  }

  static boolean isConstant(long a) {
    return Window.CONSTANTS.has(a);
  }

  static boolean isGlobal(long a) {
    return Window.space(a) == Modifier.Space.GLOBAL;
  }

  /** A cache policy is opaque, and nobody but the cache reads it. */
  static long policy() {
    return 0;
  }

  static long policy(float fraction) {
    return 0;
  }
}
