package dev.athanor.engine.ptx.meaning;

/** Lane functions of integers (PTX ISA 9.7.1); see {@link LaneFunctions}. */
public final class IntegerFunctions {

  private IntegerFunctions() {}

  static int add(int a, int b) {
    return a + b;
  }

  static long add(long a, long b) {
    return a + b;
  }

  static int sub(int a, int b) {
    return a - b;
  }

  static long sub(long a, long b) {
    return a - b;
  }

  static int mul(int a, int b) {
    return a * b;
  }

  static long mul(long a, long b) {
    return a * b;
  }

  static int mulHigh(int a, int b) {
    return (int) (((long) a * b) >> 32);
  }

  static long mulHigh(long a, long b) {
    return Math.multiplyHigh(a, b);
  }

  static int mulHighUnsigned(int a, int b) {
    return (int) (((a & 0xFFFF_FFFFL) * (b & 0xFFFF_FFFFL)) >>> 32);
  }

  static long mulHighUnsigned(long a, long b) {
    return Math.unsignedMultiplyHigh(a, b);
  }

  static long mulWide(int a, int b) {
    return (long) a * b;
  }

  static long mulWideUnsigned(int a, int b) {
    return (a & 0xFFFF_FFFFL) * (b & 0xFFFF_FFFFL);
  }

  static int mad(int a, int b, int c) {
    return a * b + c;
  }

  static long mad(long a, long b, long c) {
    return a * b + c;
  }

  static long madWide(int a, int b, long c) {
    return (long) a * b + c;
  }

  static long madWideUnsigned(int a, int b, long c) {
    return (a & 0xFFFF_FFFFL) * (b & 0xFFFF_FFFFL) + c;
  }

  /** Divides; division by zero is unspecified, and ptxas folds it to all ones. */
  static int div(int a, int b) {
    return b == 0 ? -1 : a / b;
  }

  static long div(long a, long b) {
    return b == 0 ? -1 : a / b;
  }

  static int divUnsigned(int a, int b) {
    return b == 0 ? -1 : Integer.divideUnsigned(a, b);
  }

  static long divUnsigned(long a, long b) {
    return b == 0 ? -1 : Long.divideUnsigned(a, b);
  }

  static int rem(int a, int b) {
    return b == 0 ? -1 : a % b;
  }

  static long rem(long a, long b) {
    return b == 0 ? -1 : a % b;
  }

  static int remUnsigned(int a, int b) {
    return b == 0 ? -1 : Integer.remainderUnsigned(a, b);
  }

  static long remUnsigned(long a, long b) {
    return b == 0 ? -1 : Long.remainderUnsigned(a, b);
  }

  static int abs(int a) {
    return Math.abs(a);
  }

  static long abs(long a) {
    return Math.abs(a);
  }

  static int neg(int a) {
    return -a;
  }

  static long neg(long a) {
    return -a;
  }

  static int min(int a, int b) {
    return Math.min(a, b);
  }

  static long min(long a, long b) {
    return Math.min(a, b);
  }

  static int max(int a, int b) {
    return Math.max(a, b);
  }

  static long max(long a, long b) {
    return Math.max(a, b);
  }

  /** Returns 0 for negative numbers. */
  static int positive(int a) {
    return Math.max(a, 0);
  }

  public static int minUnsigned(int a, int b) {
    return Integer.compareUnsigned(a, b) <= 0 ? a : b;
  }

  public static long minUnsigned(long a, long b) {
    return Long.compareUnsigned(a, b) <= 0 ? a : b;
  }

  public static int maxUnsigned(int a, int b) {
    return Integer.compareUnsigned(a, b) >= 0 ? a : b;
  }

  public static long maxUnsigned(long a, long b) {
    return Long.compareUnsigned(a, b) >= 0 ? a : b;
  }

  static int addSaturating(int a, int b) {
    return Math.clamp((long) a + b, Integer.MIN_VALUE, Integer.MAX_VALUE);
  }

  static int subSaturating(int a, int b) {
    return Math.clamp((long) a - b, Integer.MIN_VALUE, Integer.MAX_VALUE);
  }

  /** Returns the upper half of the product of 16-bit operands. */
  static int mulHigh16(int a, int b) {
    return (a * b) >>> 16;
  }

  static int madHigh16(int a, int b, int c) {
    return mulHigh16(a, b) + c;
  }

  static int madHigh(int a, int b, int c) {
    return mulHigh(a, b) + c;
  }

  static long madHigh(long a, long b, long c) {
    return mulHigh(a, b) + c;
  }

  static int madHighUnsigned(int a, int b, int c) {
    return mulHighUnsigned(a, b) + c;
  }

  static long madHighUnsigned(long a, long b, long c) {
    return mulHighUnsigned(a, b) + c;
  }

  static int madHighSaturating(int a, int b, int c) {
    return addSaturating(mulHigh(a, b), c);
  }

  static int mul24(int a, int b) {
    return (a << 8 >> 8) * (b << 8 >> 8);
  }

  static int mul24Unsigned(int a, int b) {
    return (a & 0xFF_FFFF) * (b & 0xFF_FFFF);
  }

  /** Returns bits 47 to 16 of the product. */
  static int mul24High(int a, int b) {
    return (int) (((long) (a << 8 >> 8) * (b << 8 >> 8)) >> 16);
  }

  static int mul24HighUnsigned(int a, int b) {
    return (int) (((long) (a & 0xFF_FFFF) * (b & 0xFF_FFFF)) >> 16);
  }

  static int mad24(int a, int b, int c) {
    return mul24(a, b) + c;
  }

  static int mad24Unsigned(int a, int b, int c) {
    return mul24Unsigned(a, b) + c;
  }

  static int mad24High(int a, int b, int c) {
    return mul24High(a, b) + c;
  }

  static int mad24HighUnsigned(int a, int b, int c) {
    return mul24HighUnsigned(a, b) + c;
  }

  static int mad24HighSaturating(int a, int b, int c) {
    return addSaturating(mul24High(a, b), c);
  }

  static int sad(int a, int b, int c) {
    return c + max(a, b) - min(a, b);
  }

  static long sad(long a, long b, long c) {
    return c + max(a, b) - min(a, b);
  }

  static int sadUnsigned(int a, int b, int c) {
    return c + maxUnsigned(a, b) - minUnsigned(a, b);
  }

  static long sadUnsigned(long a, long b, long c) {
    return c + maxUnsigned(a, b) - minUnsigned(a, b);
  }

  // additions with carry (9.7.2); the last operand is the carry flag. Hardware has one flag and
  // subtracts by adding ~b + 1, so a subtraction sets the flag if there is no borrow. The manual
  // describes a borrow flag instead, which differs if a subtraction follows an addition or vice
  // versa, as in nvcc's 128-bit division.

  static int addCarry(int a, int b, boolean carry) {
    return a + b + (carry ? 1 : 0);
  }

  static long addCarry(long a, long b, boolean carry) {
    return a + b + (carry ? 1 : 0);
  }

  static boolean carry(int a, int b) {
    return Integer.compareUnsigned(a + b, a) < 0;
  }

  static boolean carry(long a, long b) {
    return Long.compareUnsigned(a + b, a) < 0;
  }

  static boolean carry(int a, int b, boolean carry) {
    return carry(a, b) || (carry && a + b == -1);
  }

  static boolean carry(long a, long b, boolean carry) {
    return carry(a, b) || (carry && a + b == -1);
  }

  static int subWithCarry(int a, int b, boolean carry) {
    return addCarry(a, ~b, carry);
  }

  static long subWithCarry(long a, long b, boolean carry) {
    return addCarry(a, ~b, carry);
  }

  static boolean subCarry(int a, int b) {
    return Integer.compareUnsigned(a, b) >= 0;
  }

  static boolean subCarry(long a, long b) {
    return Long.compareUnsigned(a, b) >= 0;
  }

  static boolean subCarry(int a, int b, boolean carry) {
    return carry(a, ~b, carry);
  }

  static boolean subCarry(long a, long b, boolean carry) {
    return carry(a, ~b, carry);
  }

  static int mulAddCarry(int a, int b, int c, boolean carry) {
    return a * b + c + (carry ? 1 : 0);
  }

  static long mulAddCarry(long a, long b, long c, boolean carry) {
    return a * b + c + (carry ? 1 : 0);
  }

  static boolean mulCarry(int a, int b, int c) {
    return carry(a * b, c);
  }

  static boolean mulCarry(long a, long b, long c) {
    return carry(a * b, c);
  }

  static boolean mulCarry(int a, int b, int c, boolean carry) {
    return carry(a * b, c, carry);
  }

  static boolean mulCarry(long a, long b, long c, boolean carry) {
    return carry(a * b, c, carry);
  }

  static int mulHighAddCarry(int a, int b, int c, boolean carry) {
    return mulHigh(a, b) + c + (carry ? 1 : 0);
  }

  static boolean mulHighCarry(int a, int b, int c) {
    return carry(mulHigh(a, b), c);
  }

  static boolean mulHighCarry(int a, int b, int c, boolean carry) {
    return carry(mulHigh(a, b), c, carry);
  }

  static int mulHighAddCarryUnsigned(int a, int b, int c, boolean carry) {
    return mulHighUnsigned(a, b) + c + (carry ? 1 : 0);
  }

  static boolean mulHighCarryUnsigned(int a, int b, int c) {
    return carry(mulHighUnsigned(a, b), c);
  }

  static boolean mulHighCarryUnsigned(int a, int b, int c, boolean carry) {
    return carry(mulHighUnsigned(a, b), c, carry);
  }

  static long mulHighAddCarry(long a, long b, long c, boolean carry) {
    return mulHigh(a, b) + c + (carry ? 1 : 0);
  }

  static boolean mulHighCarry(long a, long b, long c) {
    return carry(mulHigh(a, b), c);
  }

  static boolean mulHighCarry(long a, long b, long c, boolean carry) {
    return carry(mulHigh(a, b), c, carry);
  }

  static long mulHighAddCarryUnsigned(long a, long b, long c, boolean carry) {
    return mulHighUnsigned(a, b) + c + (carry ? 1 : 0);
  }

  static boolean mulHighCarryUnsigned(long a, long b, long c) {
    return carry(mulHighUnsigned(a, b), c);
  }

  static boolean mulHighCarryUnsigned(long a, long b, long c, boolean carry) {
    return carry(mulHighUnsigned(a, b), c, carry);
  }
}
