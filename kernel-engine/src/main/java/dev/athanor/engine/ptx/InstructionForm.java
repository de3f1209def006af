package dev.athanor.engine.ptx;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A row of the instruction table, in the notation of the PTX manual: {@code add{.rn}{.ftz}.f32 d,
 * a, b}. The parser, the printer, the verifier, the emulator and the authoring layer all read these
 * rows.
 *
 * <p>In the syntax, {@code {.x}} is optional, {@code <x|y>} is a choice, and words such as {@code
 * sint} and {@code mem} are classes of modifiers.
 *
 * @param section section of the PTX ISA manual
 * @param since first version and target that support the row
 * @param alternative another version and target that support the row: an older version with a newer
 *     target; null = none
 * @param legal whether a combination of modifiers that fits the slots is legal
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
   * Facts that only few rows state.
   *
   * @param errorBound error that the manual permits with {@code .approx} or {@code .full}; null =
   *     not stated
   * @param undefined operands for which the manual defines no result
   * @param deviceSpecific whether results differ between devices or are not numeric, and thus
   *     cannot be compared
   * @param removed null = no version lacks the row
   * @param modifierSince version and target of modifiers that are newer than the row
   */
  public record Facts(
      @Nullable ErrorBound errorBound,
      Undefined undefined,
      boolean deviceSpecific,
      @Nullable Removal removed,
      Map<Modifier, Since> modifierSince) {
    public Facts {
      modifierSince = Map.copyOf(modifierSince);
    }
  }

  /**
   * The first version that lacks a row, for a target and later ones.
   *
   * @param replacement the instruction to write instead
   */
  public record Removal(Since since, String replacement) {}

  /** Operands for which the manual defines no result. */
  public enum Undefined {
    NOTHING,
    /** The second source is 0. */
    ZERO_DIVISOR,
    /** The second source, a bit index, exceeds 31. */
    BASE_ABOVE_31
  }

  /** The first version and target that support an instruction. */
  public record Since(Version version, Target target) {}

  /**
   * A slot for a modifier. A mandatory word has one choice.
   *
   * @param independent whether the choice does not affect which other modifiers are legal
   */
  public record ModifierSlot(boolean optional, List<Modifier> choices, boolean independent) {}

  /**
   * The error that the PTX manual permits for an instruction. A result within either bound is
   * correct.
   *
   * @param relative maximum error relative to the exact result
   * @param absolute maximum absolute error
   * @param maxMagnitude maximum magnitude of an operand for which the manual states a bound
   */
  public record ErrorBound(double relative, double absolute, double maxMagnitude) {
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
   * Assigns dotted words to the slots. Like ptxas, it accepts them in any order; only the order of
   * types is significant. Returns the modifiers in the order of the row; empty if they do not fit.
   */
  public Optional<Modifiers> match(List<Modifier> words) {
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
   * Returns all legal choices of modifiers. At most one {@linkplain ModifierSlot#independent
   * independent} modifier deviates from its default at a time, which keeps the number of
   * combinations small.
   */
  public List<Modifiers> allModifiers() {
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
   * Returns whether a version and target no longer support the row. PTX 6.4 removed shuffles and
   * votes without a member mask for sm_70 and later (PTX ISA 9.7.9.5, 9.7.13.8); ptxas has {@code
   * mad.f32} without a rounding modifier until PTX 3.1.
   */
  public boolean isRemoved(Version version, Target target) {
    return facts.removed != null && has(version, target, facts.removed.since);
  }

  /** Returns whether a version and target support the instruction with these modifiers. */
  public boolean isSupported(Version version, Target target, Modifiers chosen) {
    return !isRemoved(version, target) && isIntroduced(version, target, chosen);
  }

  public boolean isIntroduced(Version version, Target target, Modifiers chosen) {
    return has(version, target, since(since, chosen))
        || (alternative != null && has(version, target, since(alternative, chosen)));
  }

  private static boolean has(Version version, Target target, Since first) {
    return first.version().compareTo(version) <= 0 && target.canRun(first.target());
  }

  /** Returns the first version and target that support the instruction with these modifiers. */
  public Since since(Modifiers chosen) {
    return since(since, chosen);
  }

  private Since since(Since since, Modifiers chosen) {
    var version = since.version();
    var target = since.target();
    for (var modifier : chosen.list()) {
      var own = facts.modifierSince.getOrDefault(modifier, since);
      version = version.compareTo(own.version()) < 0 ? own.version() : version;
      target = own.target().canRun(target) ? own.target() : target;
    }
    return new Since(version, target);
  }

  /** Returns the registers that an instruction reads or writes implicitly. */
  public List<Operand.Register> impliedRegisters(boolean results) {
    return semantics instanceof Semantics.Pure pure
            && (results ? pure.carry().isWritten() : pure.carry().isRead())
        ? List.of(Operand.Register.CARRY)
        : List.of();
  }

  /** Returns the instruction that replaces a removed one. */
  public String replacement() {
    return facts.removed == null ? mnemonic : facts.removed.replacement;
  }

  /** Returns whether number and shapes of the operands match this row; ignores types. */
  public boolean acceptsShapes(List<Operand> given, Modifiers chosen) {
    if (given.size() != operands.size()) {
      return false;
    }
    for (int i = 0; i < given.size(); i++) {
      if (!shapeFits(operands.get(i), given.get(i), chosen)
          && !isSpecialSourceOfConversion(i, given.get(i))
          && !isAccessedElement(i, given.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** Conversions accept special registers, although only {@code mov} has rows for them. */
  private boolean isSpecialSourceOfConversion(int operand, Operand given) {
    return isConversion()
        && operands.get(operand).kind() == OperandSlot.Kind.SOURCE
        && given instanceof SpecialRegister special
        && special.type() == Type.U32;
  }

  /** Loads and stores take an element of an array without brackets. */
  private boolean isAccessedElement(int operand, Operand given) {
    return (semantics instanceof Semantics.Load || semantics instanceof Semantics.Store)
        && operands.get(operand).kind() == OperandSlot.Kind.MEMORY
        && given instanceof Operand.Element;
  }

  /** Returns whether the instruction converts between types. */
  public boolean isConversion() {
    return semantics instanceof Semantics.Pure pure
        && pure.operation() == Semantics.LaneOperation.CONVERSION;
  }

  /** Returns whether the classes of source registers match this row. */
  public boolean acceptsClasses(List<Operand> given, Modifiers chosen) {
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
      return slot.kind() == OperandSlot.Kind.SINK || slot.discardable();
    }
    if (slot.isBracedScalar(given, chosen)) {
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
      case SYMBOL -> given instanceof Operand.Symbol || given instanceof Operand.Element;
      case LABEL, FUNCTION, TARGETS -> given instanceof Operand.Symbol;
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
