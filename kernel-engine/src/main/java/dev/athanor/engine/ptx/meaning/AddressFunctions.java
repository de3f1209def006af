package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier;

/** The lane functions of {@code cvta}, {@code isspacep} and {@code createpolicy}. */
final class AddressFunctions {

  /** The block's own shared memory ends here; beyond lies that of the cluster's blocks. */
  private static final long OWN_SHARED = 1L << AddressWindow.PEER_SHIFT;

  /** How many arrivals the state of an mbarrier awaits. */
  static int pendingCount(long state) {
    return MbarrierState.pending(state);
  }

  private AddressFunctions() {}

  static long genericOfShared(long a) {
    return a + AddressWindow.SHARED.start();
  }

  static long sharedOfGeneric(long a) {
    return a - AddressWindow.SHARED.start();
  }

  static long genericOfLocal(long a) {
    return a + AddressWindow.LOCAL.start();
  }

  static long localOfGeneric(long a) {
    return a - AddressWindow.LOCAL.start();
  }

  static long genericOfParameter(long a) {
    return a + AddressWindow.PARAMETERS.start();
  }

  static long parameterOfGeneric(long a) {
    return a - AddressWindow.PARAMETERS.start();
  }

  static long genericOfConstant(long a) {
    return a + AddressWindow.CONSTANTS.start();
  }

  static long constantOfGeneric(long a) {
    return a - AddressWindow.CONSTANTS.start();
  }

  static boolean isShared(long a) {
    return AddressWindow.SHARED.has(a);
  }

  static boolean isOwnShared(long a) {
    return AddressWindow.SHARED.has(a) && a - AddressWindow.SHARED.start() < OWN_SHARED;
  }

  static boolean isLocal(long a) {
    return AddressWindow.LOCAL.has(a);
  }

  static boolean isParameter(long a) {
    return AddressWindow.PARAMETERS.has(a);
  }

  static boolean isConstant(long a) {
    return AddressWindow.CONSTANTS.has(a);
  }

  static boolean isGlobal(long a) {
    return AddressWindow.space(a) == Modifier.Space.GLOBAL;
  }

  /** A cache policy is opaque: only the cache reads it. */
  static long policy() {
    return 0;
  }

  static long policy(float fraction) {
    return 0;
  }

  static long policy(long property) {
    return 0;
  }

  /** The address in the shared memory of a block of the cluster that is like one in the own. */
  static int map(int a, int rank) {
    return (a & (int) (OWN_SHARED - 1)) | ((rank + 1) << AddressWindow.PEER_SHIFT);
  }

  static long map(long a, int rank) {
    long own = a & (OWN_SHARED - 1);
    return (a & 0xFFFF_FFFF_0000_0000L)
        | own
        | (((rank + 1L) << AddressWindow.PEER_SHIFT) & 0xFFFF_FFFFL);
  }
}
