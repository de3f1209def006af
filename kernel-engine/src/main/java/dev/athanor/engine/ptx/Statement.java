package dev.athanor.engine.ptx;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A statement in the body of a kernel. */
public sealed interface Statement {
  /** Returns the source position. */
  Source source();

  /** A branch target. Labels are equal if their names are. */
  record Label(String name, Source source) implements Statement {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Label label && name.equals(label.name);
    }

    @Override
    public int hashCode() {
      return name.hashCode();
    }

    @Override
    public String toString() {
      return name + ":";
    }
  }

  /**
   * The prototype of an indirect call.
   *
   * @param returns whether the function returns
   */
  record Prototype(
      String name,
      List<Kernel.Parameter> results,
      List<Kernel.Parameter> parameters,
      boolean returns,
      Source source)
      implements Statement {
    public Prototype {
      results = List.copyOf(results);
      parameters = List.copyOf(parameters);
    }

    @Override
    public String toString() {
      return "%s: .callprototype %s_ %s%s;"
          .formatted(
              name,
              results.isEmpty() ? "" : list(results) + " ",
              list(parameters),
              returns ? "" : " .noreturn");
    }

    private static String list(List<Kernel.Parameter> parameters) {
      return parameters.stream()
          .map(Kernel.Parameter::toString)
          .collect(Collectors.joining(", ", "(", ")"));
    }
  }

  /**
   * The possible targets of an indirect call or indexed branch.
   *
   * @param functions true for functions, false for labels
   */
  record TargetList(String name, boolean functions, List<String> names, Source source)
      implements Statement {
    public TargetList {
      names = List.copyOf(names);
    }

    @Override
    public String toString() {
      return "%s: .%stargets %s;"
          .formatted(name, functions ? "call" : "branch", String.join(", ", names));
    }
  }

  /** A guard {@code @p} or {@code @!p} of an instruction. */
  record Guard(Operand.Register predicate, boolean negated) {
    @Override
    public String toString() {
      return (negated ? "@!" : "@") + predicate;
    }
  }

  /**
   * A row of the table with modifiers and operands. Equality ignores the source position.
   *
   * @param origin instruction of the text that this one implements, for printing; null = this one
   */
  record Instruction(
      InstructionForm form,
      Modifiers modifiers,
      List<Operand> operands,
      @Nullable Guard guard,
      Source source,
      @Nullable Instruction origin)
      implements Statement {
    public Instruction {
      operands = List.copyOf(operands);
    }

    /** Creates an instruction of the text. */
    public Instruction(
        InstructionForm form,
        Modifiers modifiers,
        List<Operand> operands,
        @Nullable Guard guard,
        Source source) {
      this(form, modifiers, operands, guard, source, null);
    }

    /** Returns this instruction as an implementation of another, at its source position. */
    public Instruction asReplacementOf(Instruction other) {
      return new Instruction(form, modifiers, operands, guard, other.source, other.original());
    }

    /**
     * Returns the instruction of the text that this one implements; itself if it is from the text.
     */
    public Instruction original() {
      return origin == null ? this : origin;
    }

    /** Returns whether all threads of a warp must execute the instruction together. */
    public boolean isAligned() {
      return modifiers.has("aligned")
          || (form.semantics() instanceof Semantics.Barrier barrier && barrier.aligned());
    }

    /** Returns the first version and target that support the instruction. */
    public InstructionForm.Since since() {
      return form.since(modifiers);
    }

    /**
     * Returns the mnemonic with all modifiers, such as {@code fma.rn.f32}. Includes each {@link
     * Modifier.Part}, which the text has at the operands.
     */
    public String opcode() {
      return form.mnemonic() + modifiers;
    }

    /** Returns the registers that the instruction writes. */
    public List<Operand.Register> writes() {
      var found = new ArrayList<Operand.Register>();
      collect(true, found);
      return Collections.unmodifiableList(found);
    }

    /**
     * Returns the registers that the instruction reads or may read, including addresses, the guard
     * and {@linkplain #updates updated} registers.
     */
    public List<Operand.Register> reads() {
      var found = new ArrayList<Operand.Register>();
      if (guard != null) {
        found.add(guard.predicate());
      }
      collect(false, found);
      found.addAll(updates());
      return Collections.unmodifiableList(found);
    }

    /** Returns the registers whose new values depend on their old values, such as accumulators. */
    public List<Operand.Register> updates() {
      var found = new ArrayList<Operand.Register>();
      for (int i = 0; i < operands.size(); i++) {
        if (form.operands().get(i).updated() && !overwritesAccumulator()) {
          operands.get(i).registers().forEach(found::add);
        }
      }
      return Collections.unmodifiableList(found);
    }

    /** Returns whether the literal {@code scale_d} is 0: the product overwrites the accumulator. */
    private boolean overwritesAccumulator() {
      return scale() instanceof Operand.Immediate literal && literal.bits() == 0;
    }

    /**
     * Returns whether a predicate decides if old values of {@linkplain #updates updated} registers
     * are used.
     */
    public boolean mayOverwriteAccumulator() {
      return scale() instanceof Operand.Register;
    }

    /** Returns the {@code scale_d} operand; null if there is none. */
    private @Nullable Operand scale() {
      for (int i = 0; i < operands.size(); i++) {
        if (form.operands().get(i).name() == OperandSlot.Name.SCALE_D) {
          return operands.get(i);
        }
      }
      return null;
    }

    private void collect(boolean results, List<Operand.Register> found) {
      for (int i = 0; i < operands.size(); i++) {
        if (form.operands().get(i).isResult() == results) {
          if (operands.get(i) instanceof Operand.Register register) {
            found.add(register);
          } else {
            operands.get(i).registers().forEach(found::add);
          }
        }
      }
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Instruction i
          && form.equals(i.form)
          && modifiers.equals(i.modifiers)
          && operands.equals(i.operands)
          && Objects.equals(guard, i.guard);
    }

    @Override
    public int hashCode() {
      return Objects.hash(form, modifiers, operands, guard);
    }

    @Override
    public String toString() {
      if (origin != null) {
        return origin.toString();
      }
      return (guard == null ? "" : guard + " ")
          + form.mnemonic()
          + modifiers.ofOpcode()
          + IntStream.range(0, operands.size())
              .mapToObj(this::text)
              .collect(Collectors.joining(", ", operands.isEmpty() ? "" : " ", ";"));
    }

    private String text(int operand) {
      var text = operands.get(operand).toString();
      for (var part : modifiers.parts(form.operands().get(operand).name().word())) {
        text = part.of(text);
      }
      return text;
    }
  }
}
