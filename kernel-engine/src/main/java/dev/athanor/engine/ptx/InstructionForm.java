package dev.athanor.engine.ptx;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One row of the instruction table, written in the notation of the PTX manual: {@code
 * add{.rn}{.ftz}.f32 d, a, b}. The parser, the printer, the verifier, the emulator and the
 * authoring layer all read this row.
 *
 * <p>In the syntax {@code {.x}} may be left out, {@code <x|y>} is a choice, and the words of {@link
 * Vocabulary} stand for a class of modifiers.
 *
 * @param section of the PTX ISA manual
 * @param since the first version and target that have it
 * @param alternative another version and target that have it: an older version, but for younger
 *     targets; null = none
 * @param legal whether a combination of modifiers that fits the slots is an instruction
 */
public record InstructionForm(
    String section,
    Since since,
    @Nullable Since alternative,
    String syntax,
    String mnemonic,
    List<ModifierSlot> modifiers,
    List<OperandSlot> operands,
    Predicate<Modifiers> legal,
    Semantics semantics,
    Facts facts) {

  /**
   * The columns of a row that few rows fill.
   *
   * @param bound the error that the manual allows with {@code .approx} or {@code .full}; null =
   *     none is stated
   * @param undefined the operands for which the manual defines no result
   * @param deviceSpecific whether results differ between devices, or are no numbers, so that they
   *     cannot be compared
   * @param removed the first version that lacks the row, for this and later targets; null = none
   * @param newer the first version and target that have a modifier, where the row is older
   */
  public record Facts(
      @Nullable ErrorBound bound,
      Undefined undefined,
      boolean deviceSpecific,
      @Nullable Since removed,
      Map<Modifier, Since> newer) {

    public Facts {
      newer = Map.copyOf(newer);
    }
  }

  /** The operands for which the manual defines no result. */
  public enum Undefined {
    NOTHING,
    /** The second source is 0. */
    ZERO_DIVISOR,
    /** The second source, the number of a bit, is above 31. */
    BASE_ABOVE_31
  }

  /** The first version and the first target that have an instruction. */
  public record Since(Version version, Target target) {}

  /**
   * A place for a modifier; a word without alternatives has one choice.
   *
   * @param independent whether its choices do not change which other modifiers are legal
   */
  public record ModifierSlot(boolean optional, List<Modifier> choices, boolean independent) {}

  /**
   * The error that the PTX manual allows an instruction.
   *
   * @param relative the greatest difference, as a share of the exact value
   * @param absolute the greatest difference; a result is right within either
   * @param greatest magnitude of an operand for which the manual gives a bound
   */
  public record ErrorBound(double relative, double absolute, double greatest) {

    /** No error. */
    public static final ErrorBound EXACT = new ErrorBound(0, 0, Double.POSITIVE_INFINITY);

    public static ErrorBound relative(double bound) {
      return new ErrorBound(bound, 0, Double.POSITIVE_INFINITY);
    }

    public static ErrorBound absolute(double bound) {
      return new ErrorBound(0, bound, Double.POSITIVE_INFINITY);
    }
  }

  /**
   * Fits dotted words to the slots. Words may come in any order, as ptxas takes them; only those
   * that fit the same slots, as types do, are told apart by their order. The answer has them in the
   * order of the row.
   */
  public Optional<Modifiers> fit(List<Modifier> words) {
    var found = new Modifier[modifiers.size()];
    int types = 0;
    for (var word : words) {
      int slot = word instanceof Type ? types : 0;
      while (slot < found.length
          && (found[slot] != null || !modifiers.get(slot).choices().contains(word))) {
        slot++;
      }
      if (slot == found.length) {
        return Optional.empty();
      }
      found[slot] = word;
      types = word instanceof Type ? slot + 1 : types;
    }
    var present = new ArrayList<Modifier>();
    for (int i = 0; i < found.length; i++) {
      if (found[i] != null) {
        present.add(found[i]);
      } else if (!modifiers.get(i).optional()) {
        return Optional.empty();
      }
    }
    return Optional.of(new Modifiers(present)).filter(legal);
  }

  /**
   * Every legal choice of modifiers; of the {@linkplain ModifierSlot#independent independent} ones
   * at most one differs from the first, or from none where none is needed, so that their number
   * stays small.
   */
  public List<Modifiers> everyModifiers() {
    return spellings(modifiers, true).stream().map(Modifiers::new).filter(legal).toList();
  }

  private static List<List<Modifier>> spellings(List<ModifierSlot> slots, boolean varied) {
    if (slots.isEmpty()) {
      return List.of(List.of());
    }
    var slot = slots.getFirst();
    var rest = slots.subList(1, slots.size());
    var all = new ArrayList<List<Modifier>>();
    if (slot.optional()) {
      all.addAll(spellings(rest, varied));
    }
    for (int i = 0; i < slot.choices().size(); i++) {
      boolean differs = slot.independent() && (i > 0 || slot.optional());
      if (!differs || varied) {
        for (var tail : spellings(rest, varied && !differs)) {
          var whole = new ArrayList<Modifier>();
          whole.add(slot.choices().get(i));
          whole.addAll(tail);
          all.add(whole);
        }
      }
    }
    return all;
  }

  /**
   * Whether a version and a target have no longer what they had: PTX 6.4 removed shuffles and votes
   * without a member mask for targets from sm_70 on (PTX ISA 9.7.9.5, 9.7.13.8).
   */
  public boolean isRemoved(Version version, Target target) {
    return facts.removed != null && has(version, target, facts.removed);
  }

  /** Whether a version and a target have the instruction with these modifiers. */
  public boolean isIn(Version version, Target target, Modifiers chosen) {
    return !isRemoved(version, target) && isIntroduced(version, target, chosen);
  }

  public boolean isIntroduced(Version version, Target target, Modifiers chosen) {
    return has(version, target, since(since, chosen))
        || (alternative != null && has(version, target, since(alternative, chosen)));
  }

  private static boolean has(Version version, Target target, Since first) {
    return first.version().compareTo(version) <= 0 && target.runs(first.target());
  }

  /** The first version and target that have the instruction with these modifiers. */
  public Since since(Modifiers chosen) {
    return since(since, chosen);
  }

  private Since since(Since since, Modifiers chosen) {
    var version = since.version();
    var target = since.target();
    for (var modifier : chosen.list()) {
      var own = facts.newer.getOrDefault(modifier, since);
      version = version.compareTo(own.version()) < 0 ? own.version() : version;
      target = own.target().runs(target) ? own.target() : target;
    }
    return new Since(version, target);
  }

  /** The registers that an instruction reads, or writes, without naming them. */
  public List<Operand.Register> implied(boolean results) {
    return semantics instanceof Semantics.Pure pure
            && (results ? pure.carry().isWritten() : pure.carry().isRead())
        ? List.of(Operand.Register.CARRY)
        : List.of();
  }

  /** Whether the operands have the right number and shapes for this row, their types aside. */
  public boolean takes(List<Operand> given, Modifiers chosen) {
    if (given.size() != operands.size()) {
      return false;
    }
    for (int i = 0; i < given.size(); i++) {
      if (!shapeFits(operands.get(i), given.get(i), chosen)
          && !isConvertedSpecial(i, given.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** Conversions take special registers, as {@code mov} does, which alone has rows for them. */
  private boolean isConvertedSpecial(int operand, Operand given) {
    return isConversion()
        && operands.get(operand).kind() == OperandSlot.Kind.SOURCE
        && given instanceof SpecialRegister special
        && special.type() == Type.U32;
  }

  /** Whether it converts between types. */
  public boolean isConversion() {
    return semantics instanceof Semantics.Pure pure
        && pure.operation() == Semantics.LaneOperation.CONVERSION;
  }

  /** Whether single registers have the classes that this row asks for, too. */
  public boolean suits(List<Operand> given, Modifiers chosen) {
    for (int i = 0; i < given.size(); i++) {
      var slot = operands.get(i);
      if (slot.kind() == OperandSlot.Kind.SOURCE
          && given.get(i) instanceof Operand.Register register
          && !slot.type(chosen).fits(register.registerClass())) {
        return false;
      }
    }
    return true;
  }

  private static boolean shapeFits(OperandSlot slot, Operand given, Modifiers chosen) {
    if (slot.second() != null) {
      return given instanceof Operand.Pair;
    }
    if (given instanceof Operand.Sink) {
      return slot.kind() == OperandSlot.Kind.SINK || slot.ignorable();
    }
    if (slot.isLoneElement(given, chosen)) {
      return shapeFits(slot, ((Operand.Vector) given).elements().getFirst(), chosen);
    }
    if (slot.isVector(chosen)) {
      return given instanceof Operand.Vector v && v.elements().size() == slot.length(chosen);
    }
    return switch (slot.kind()) {
      case RESULT -> given instanceof Operand.Register;
      case SOURCE ->
          given instanceof Operand.Register
              || (given instanceof Operand.Immediate && !slot.isPredicateRegister())
              || (given instanceof Operand.Negation && slot.type(chosen) == Type.PRED);
      case MEMORY -> given instanceof Operand.Address;
      case TILE ->
          given instanceof Operand.Tile tile && tile.coordinates().size() == chosen.dimensions();
      case SINK -> false;
      case LITERAL -> given instanceof Operand.Immediate;
      case LABEL, SYMBOL, FUNCTION, TARGETS -> given instanceof Operand.Symbol;
      case ARGUMENTS -> given instanceof Operand.Arguments;
      case SPECIAL ->
          given instanceof SpecialRegister s
              && s.type().registerClass() == slot.type(chosen).registerClass();
    };
  }

  @Override
  public String toString() {
    return syntax;
  }
}
