package dev.athanor.ops.map;

import dev.athanor.engine.author.Real;
import dev.athanor.ops.Activation;
import java.util.List;

/** A function of up to two numbers, which an op applies element by element. */
public record Formula(Combination combination, Activation activation) {

  /** The identity; it rounds if the dtypes differ, else it only copies. */
  public static final Formula IDENTITY = new Formula(Combination.ONE, Activation.NONE);

  /** A constant, whose bits are an integer parameter. */
  public static final Formula FILL = new Formula(Combination.NONE, Activation.NONE);

  /** The combination of the operands and the activation. */
  enum Combination {
    /** No operand. */
    NONE(0),
    /** {@code f(a)}. */
    ONE(1),
    /** {@code f(a + b)}. */
    SUM(2),
    /** {@code f(a · b)}. */
    PRODUCT(2),
    /** {@code f(a) · b}. */
    GATE(2),
    /** {@code f'(a) · b}. */
    GRADIENT(2);

    private final int operands;

    Combination(int operands) {
      this.operands = operands;
    }
  }

  /** Returns the number of operands. */
  int operands() {
    return combination.operands;
  }

  /** Computes the function in f32 or f64. For f64, the activation must be {@code NONE}. */
  Real apply(List<Real> x) {
    var a = x.getFirst();
    return switch (combination) {
      case NONE -> throw new IllegalStateException("a constant has no operands");
      case ONE -> activation.apply(a);
      case SUM -> activation.apply(a.plus(x.getLast()));
      case PRODUCT -> activation.apply(a.times(x.getLast()));
      case GATE -> activation.apply(a).times(x.getLast());
      case GRADIENT -> activation.derivative(a).times(x.getLast());
    };
  }

  /** Returns the function in float64. */
  double apply(double a, double b) {
    return switch (combination) {
      case NONE -> throw new IllegalStateException("a constant has no operands");
      case ONE -> activation.apply(a);
      case SUM -> activation.apply(a + b);
      case PRODUCT -> activation.apply(a * b);
      case GATE -> activation.apply(a) * b;
      case GRADIENT -> activation.derivative(a) * b;
    };
  }

  /** Returns the part of kernel names, such as {@code gate_gelu_tanh}. */
  String text() {
    var function = activation.text().replace('-', '_');
    return switch (combination) {
      case NONE -> "fill";
      case ONE -> activation == Activation.NONE ? "copy" : function;
      case SUM -> activation == Activation.NONE ? "add" : "add_" + function;
      case PRODUCT -> activation == Activation.NONE ? "mul" : "mul_" + function;
      case GATE -> "gate_" + function;
      case GRADIENT -> "gradient_" + function;
    };
  }
}
