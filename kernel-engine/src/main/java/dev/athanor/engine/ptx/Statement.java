package dev.athanor.engine.ptx;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** One line of a kernel's body. */
public sealed interface Statement {

  /** Where it was written. */
  Source source();

  /** A branch target. Labels of one name are equal wherever they were written. */
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
   * What an indirect call hands over and gets back.
   *
   * @param returns whether the function comes back
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
   * Where an indirect call or an indexed branch can go.
   *
   * @param functions whether functions are listed, or else labels
   */
  record Targets(String name, boolean functions, List<String> names, Source source)
      implements Statement {

    public Targets {
      names = List.copyOf(names);
    }

    @Override
    public String toString() {
      return "%s: .%stargets %s;"
          .formatted(name, functions ? "call" : "branch", String.join(", ", names));
    }
  }

  /** {@code @p} or {@code @!p} before an instruction. */
  record Guard(Operand.Register predicate, boolean negated) {
    @Override
    public String toString() {
      return (negated ? "@!" : "@") + predicate;
    }
  }

  /**
   * A row of the table with its modifiers chosen and its operands filled in. Two instructions are
   * equal when they do the same; where they were written does not matter.
   *
   * @param origin what the text has where this one is executed in its stead or for its sake, and as
   *     which it is printed; null = this one
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

    /** One of the text. */
    public Instruction(
        InstructionForm form,
        Modifiers modifiers,
        List<Operand> operands,
        @Nullable Guard guard,
        Source source) {
      this(form, modifiers, operands, guard, source, null);
    }

    /** The same, executed for another, where that was written. */
    public Instruction insteadOf(Instruction other) {
      return new Instruction(form, modifiers, operands, guard, other.source, other.written());
    }

    /** What the text has: this one, or that for which it is executed. */
    public Instruction written() {
      return origin == null ? this : origin;
    }

    /** Whether all threads of a warp execute it together, or none. */
    public boolean isAligned() {
      return modifiers.has("aligned")
          || (form.semantics() instanceof Semantics.Barrier barrier && barrier.aligned());
    }

    /** The first version and target that have it. */
    public InstructionForm.Since since() {
      return form.since(modifiers);
    }

    /**
     * The mnemonic with all its modifiers: {@code fma.rn.f32}. {@link Modifier.Part}s, which text
     * has at the operands, are among them.
     */
    public String opcode() {
      return form.mnemonic() + modifiers;
    }

    /** The registers that the instruction writes. */
    public List<Operand.Register> writes() {
      var found = new ArrayList<Operand.Register>();
      collect(true, found);
      return Collections.unmodifiableList(found);
    }

    /**
     * The registers that the instruction reads, or may read: those of addresses and of the guard
     * are among them, and the {@linkplain #updates updated} ones.
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

    /**
     * The registers whose old values go into the new ones that the instruction writes, as the sums
     * do to which a product is added.
     */
    public List<Operand.Register> updates() {
      var found = new ArrayList<Operand.Register>();
      for (int i = 0; i < operands.size(); i++) {
        if (form.operands().get(i).updated() && !replaces()) {
          operands.get(i).registers().forEach(found::add);
        }
      }
      return Collections.unmodifiableList(found);
    }

    /** Whether the scale of the old values is the literal 0. */
    private boolean replaces() {
      return scale() instanceof Operand.Immediate literal && literal.bits() == 0;
    }

    /**
     * Whether a predicate says if the old values of {@linkplain #updates updated} ones are used.
     */
    public boolean mayReplace() {
      return scale() instanceof Operand.Register;
    }

    /** The operand that says whether old values are used; null = they always are. */
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
