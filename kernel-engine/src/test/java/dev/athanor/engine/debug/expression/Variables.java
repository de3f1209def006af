package dev.athanor.engine.debug.expression;

/** The variables of tests. Each has the same value in all threads, except {@code t}. */
final class Variables implements Scope {
  static final boolean P = true;
  static final byte B = -77;
  static final short S = 30_001;
  static final char C = 'x';
  static final int I = -1_234_567;
  static final int N = 7;
  static final long L = 0x1234_5678_9ABCL;
  static final float F = 3.7e9f;
  static final double D = -2.5;
  static final int[] X = {5, -6, 7, 0, Integer.MAX_VALUE};

  @Override
  public Named find(String name) {
    return switch (name) {
      case "p" -> new Scalar(JavaType.BOOLEAN, _ -> P);
      case "b" -> new Scalar(JavaType.BYTE, _ -> B);
      case "s" -> new Scalar(JavaType.SHORT, _ -> S);
      case "c" -> new Scalar(JavaType.CHAR, _ -> C);
      case "i" -> new Scalar(JavaType.INT, _ -> I);
      case "n" -> new Scalar(JavaType.INT, _ -> N);
      case "l" -> new Scalar(JavaType.LONG, _ -> L);
      case "f" -> new Scalar(JavaType.FLOAT, _ -> F);
      case "d" -> new Scalar(JavaType.DOUBLE, _ -> D);
      case "t" -> new Scalar(JavaType.INT, thread -> thread);
      case "%r1", "point.x" -> new Scalar(JavaType.INT, _ -> 11);
      case "x" -> new Array(JavaType.INT, _ -> X.length, (_, index) -> X[(int) index]);
      case "x.length" -> new Scalar(JavaType.INT, _ -> X.length);
      default -> throw new IllegalArgumentException("unknown " + name);
    };
  }
}
