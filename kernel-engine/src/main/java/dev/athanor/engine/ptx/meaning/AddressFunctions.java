package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier;

/** Lane functions of {@code cvta}, {@code isspacep} and {@code createpolicy}. */
final class AddressFunctions {

  /** End of the block's own shared memory; the shared memory of peer blocks follows. */
  private static final long OWN_SHARED = 1L << AddressWindow.PEER_SHIFT;

  /** Returns the pending arrivals in an mbarrier state. */
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
    return AddressWindow.SHARED.contains(a);
  }

  static boolean isOwnShared(long a) {
    return AddressWindow.SHARED.contains(a) && a - AddressWindow.SHARED.start() < OWN_SHARED;
  }

  static boolean isLocal(long a) {
    return AddressWindow.LOCAL.contains(a);
  }

  static boolean isParameter(long a) {
    return AddressWindow.PARAMETERS.contains(a);
  }

  static boolean isConstant(long a) {
    return AddressWindow.CONSTANTS.contains(a);
  }

  static boolean isGlobal(long a) {
    return AddressWindow.space(a) == Modifier.Space.GLOBAL;
  }

  /** Returns a cache policy, which is opaque and only read by the cache. */
  static long policy() {
    return 0;
  }

  static long policy(float fraction) {
    return 0;
  }

  static long policy(long property) {
    return 0;
  }

  /** Returns the address in a peer block's shared memory that corresponds to one in the own. */
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
