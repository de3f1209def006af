package dev.athanor.engine.lift.ir;

/** The operation of a {@link Value}. Arithmetic has the semantics of the Java operator. */
public enum Op {
  /** A literal; the attribute is an Integer, Long, Float, Double or Boolean. */
  CONSTANT,
  /** A parameter of a block: the value that the edge into the block passes. */
  PHI,
  /** A value that the launch passes; the attribute is an {@link ArgumentValue}. */
  ARGUMENT,
  /** A special register; the attribute is a {@code SpecialRegister}. */
  SPECIAL,
  /**
   * The address of an array that the kernel declares; the attribute is an {@link ArrayVariable}.
   */
  ARRAY,

  ADD,
  SUB,
  MUL,
  DIV,
  REM,
  NEG,
  AND,
  OR,
  XOR,
  /** Shifts mask the distance as Java does. */
  SHL,
  SHR,
  USHR,
  MIN,
  MAX,
  ABS,
  FMA,
  SQRT,
  FLOOR,
  CEIL,
  RINT,

  /** -1, 0 or 1, as {@code lcmp} and {@code fcmpl}; the attribute is the result for NaN. */
  THREE_WAY,
  /** A condition; the attribute is a {@link Relation}. */
  COMPARE,
  /** {@code condition ? first : second}. */
  SELECT,
  /** A conversion between number types. */
  CONVERT,
  /** An int truncated to an {@link Element} and extended again, as {@code i2b}. */
  NARROW,
  /** The bits of a number as another type of the same width. */
  BITCAST,

  /**
   * The address of an array element (inputs: address of element 0, index); the attribute is the
   * element's size as an Integer. Array lengths are below 2^31 - 2^20, which the launch checks.
   */
  ADDRESS,
  /** Loads from an address; the attribute is an {@link Access}. */
  LOAD,
  /** Stores to an address (inputs: address, values); the attribute is an {@link Access}. */
  STORE,
  /**
   * Reports a fault unless input 0 is in [0, input 1); the attribute is a {@link Site}. The last
   * input is the length in the report.
   */
  CHECK,
  /** An instruction sequence; the attribute is an {@link Intrinsic}. */
  CALL,
  /**
   * One of several results of input 0, which is a {@link #CALL} or a {@link #LOAD} of type {@link
   * ValueType#VOID}; the attribute is its index, an Integer.
   */
  PART,

  /**
   * For debuggers: the following instructions belong to the attribute, a {@code SourceFrame}, and
   * have the line of this one.
   */
  POSITION,
  /** For debuggers: copies a value to a variable; the attribute is its {@code Register}. */
  ASSIGN;

  /** Returns whether operands may be swapped. */
  public boolean isCommutative() {
    return switch (this) {
      case ADD, MUL, AND, OR, XOR, MIN, MAX -> true;
      default -> false;
    };
  }
}
