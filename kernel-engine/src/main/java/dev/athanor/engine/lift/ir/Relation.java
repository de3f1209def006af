package dev.athanor.engine.lift.ir;

/**
 * A comparison. The relations that end in {@code U} also hold if an operand is NaN; for integers
 * {@link #LO} and {@link #HS} compare unsigned.
 */
public enum Relation {
  EQ,
  NE,
  LT,
  LE,
  GT,
  GE,
  EQU,
  NEU,
  LTU,
  LEU,
  GTU,
  GEU,
  LO,
  HS;

  /** Returns the relation that holds exactly if this one does not, for operands of a type. */
  public Relation negated(ValueType type) {
    var inverse =
        switch (this) {
          case EQ, EQU -> NE;
          case NE, NEU -> EQ;
          case LT, LTU -> GE;
          case LE, LEU -> GT;
          case GT, GTU -> LE;
          case GE, GEU -> LT;
          case LO -> HS;
          case HS -> LO;
        };
    return type.isFloating() && !isUnordered() ? inverse.orUnordered() : inverse;
  }

  /** Returns the relation with its operands swapped. */
  public Relation swapped() {
    return switch (this) {
      case LT -> GT;
      case LE -> GE;
      case GT -> LT;
      case GE -> LE;
      case LTU -> GTU;
      case LEU -> GEU;
      case GTU -> LTU;
      case GEU -> LEU;
      case EQ, NE, EQU, NEU -> this;
      case LO, HS -> throw new IllegalArgumentException(this + " has no swapped relation");
    };
  }

  /** Returns whether the relation holds for NaN. */
  public boolean isUnordered() {
    return switch (this) {
      case EQU, NEU, LTU, LEU, GTU, GEU -> true;
      default -> false;
    };
  }

  /** Returns the relation that holds for NaN also. */
  public Relation orUnordered() {
    return switch (this) {
      case EQ -> EQU;
      case NE -> NEU;
      case LT -> LTU;
      case LE -> LEU;
      case GT -> GTU;
      case GE -> GEU;
      default -> this;
    };
  }

  /** Returns whether the relation holds for integers. */
  public boolean holds(long a, long b) {
    return switch (this) {
      case EQ, EQU -> a == b;
      case NE, NEU -> a != b;
      case LT, LTU -> a < b;
      case LE, LEU -> a <= b;
      case GT, GTU -> a > b;
      case GE, GEU -> a >= b;
      case LO -> Long.compareUnsigned(a, b) < 0;
      case HS -> Long.compareUnsigned(a, b) >= 0;
    };
  }

  /** Returns whether the relation holds for floating-point numbers. */
  public boolean holds(double a, double b) {
    if (Double.isNaN(a) || Double.isNaN(b)) {
      return isUnordered();
    }
    return switch (this) {
      case EQ, EQU -> a == b;
      case NE, NEU -> a != b;
      case LT, LTU -> a < b;
      case LE, LEU -> a <= b;
      case GT, GTU -> a > b;
      case GE, GEU -> a >= b;
      case LO, HS -> throw new IllegalArgumentException(this + " compares integers");
    };
  }
}
