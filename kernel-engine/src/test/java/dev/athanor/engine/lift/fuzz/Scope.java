package dev.athanor.engine.lift.fuzz;

import java.util.ArrayList;
import java.util.List;

/** What a place in a random method can name. */
final class Scope {

  /**
   * A local variable or parameter.
   *
   * @param word its declared type: of int expressions also {@code byte}, {@code short}, {@code
   *     char}
   * @param type of its value in expressions
   * @param assignable false for loop counters and parameters of the kernel
   * @param uniform whether it is the same in all threads
   */
  record Variable(String name, String word, Type type, boolean assignable, boolean uniform) {}

  /**
   * An array that can be read, with at least 64 elements.
   *
   * @param word the type of the elements
   * @param assignable false for parameters
   */
  record ArrayVariable(String name, String word, boolean assignable) {}

  private final List<Variable> variables = new ArrayList<>();
  private final List<String> pairs = new ArrayList<>();
  private final List<ArrayVariable> arrays = new ArrayList<>();
  private final boolean isKernel;
  private final Scope root;

  /** Number of the next variable of the method. */
  private int next;

  /** Creates the scope of the kernel or of a helper. */
  Scope(boolean isKernel) {
    this.isKernel = isKernel;
    root = this;
  }

  private Scope(Scope outer) {
    isKernel = outer.isKernel;
    root = outer.root;
    variables.addAll(outer.variables);
    pairs.addAll(outer.pairs);
    arrays.addAll(outer.arrays);
  }

  /** Returns a scope for a nested block. */
  Scope nested() {
    return new Scope(this);
  }

  String fresh(String prefix) {
    return prefix + root.next++;
  }

  void add(Variable variable) {
    variables.add(variable);
  }

  void add(ArrayVariable array) {
    arrays.add(array);
  }

  void addPair(String name) {
    pairs.add(name);
  }

  List<Variable> of(Type type) {
    return variables.stream().filter(each -> each.type == type).toList();
  }

  List<Variable> assignable() {
    return variables.stream().filter(Variable::assignable).toList();
  }

  List<Variable> assignableNumbers() {
    return variables.stream().filter(each -> each.assignable && each.type != Type.BOOLEAN).toList();
  }

  List<Variable> uniform(Type type) {
    return variables.stream().filter(each -> each.type == type && each.uniform).toList();
  }

  List<ArrayVariable> arrays() {
    return List.copyOf(arrays);
  }

  /** Returns the arrays with elements of a type. */
  List<ArrayVariable> arrays(String word) {
    return arrays.stream().filter(each -> each.word.equals(word)).toList();
  }

  boolean reads(String array) {
    return arrays.stream().anyMatch(each -> each.name.equals(array));
  }

  /** Returns whether this is the kernel and no helper, with all arguments and {@code thread}. */
  boolean isKernel() {
    return isKernel;
  }

  /** Returns the names of variables of type {@code Pair}. */
  List<String> pairs() {
    return pairs;
  }
}
