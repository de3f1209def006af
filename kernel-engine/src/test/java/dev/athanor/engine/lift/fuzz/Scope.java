package dev.athanor.engine.lift.fuzz;

import java.util.ArrayList;
import java.util.List;

/** What a place in a random method can name. */
final class Scope {

  /**
   * A local variable or parameter.
   *
   * @param word its declared type: of int expressions also {@code byte}, {@code short}, {@code char}
   * @param type of its value in expressions
   * @param assignable false for loop counters and parameters of the kernel
   * @param uniform whether it is the same in all threads
   */
  record Variable(String name, String word, Type type, boolean assignable, boolean uniform) {}

  private final List<Variable> variables = new ArrayList<>();
  private final List<String> pairs = new ArrayList<>();
  private final List<String> arrays;
  private final Scope root;

  /** Number of the next variable of the method. */
  private int next;

  /** Creates the scope of a method with some of the arrays of the arguments. */
  Scope(List<String> arrays) {
    this.arrays = arrays;
    root = this;
  }

  private Scope(Scope outer) {
    arrays = outer.arrays;
    root = outer.root;
    variables.addAll(outer.variables);
    pairs.addAll(outer.pairs);
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

  void addPair(String name) {
    pairs.add(name);
  }

  List<Variable> of(Type type) {
    return variables.stream().filter(each -> each.type == type).toList();
  }

  List<Variable> assignable() {
    return variables.stream().filter(Variable::assignable).toList();
  }

  List<Variable> uniform(Type type) {
    return variables.stream().filter(each -> each.type == type && each.uniform).toList();
  }

  /** Returns the names of arrays of 64 elements that can be read. */
  List<String> arrays() {
    return arrays;
  }

  /** Returns the names of variables of type {@code Pair}. */
  List<String> pairs() {
    return pairs;
  }
}
