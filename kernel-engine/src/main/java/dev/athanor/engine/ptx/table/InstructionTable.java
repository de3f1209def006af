package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.Semantics.LaneOperation.MOVE;
import static dev.athanor.engine.ptx.table.Row.pure;
import static dev.athanor.engine.ptx.table.Row.row;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.Semantics.*;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The instruction table, the single definition of each instruction. The larger chapters of the
 * manual have their own lists. A row states the section of the PTX manual, the first version and
 * target, the manual's syntax (in the notation of {@link InstructionForm} and {@link OperandSlot}),
 * and the semantics. A new instruction needs a row, a lane function if it computes lane by lane,
 * and a file under {@code src/test/filetests}; tests that iterate over the table cover the rest.
 */
public final class InstructionTable {

  // spotless:off
  private static final List<InstructionForm> OTHERS =
      Row.forms(
          // data movement
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.any d, a",                                                      "identity"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.pred d, a",                                                     "identity"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.<u32|b32|s32> d, a:special",                                    "identity"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.<u16|b16|s16> d, a:special",                                    "identity"),
          pure(MOVE, "9.7.9.2",     "2.0", 20, "mov.<u64|b64|s64> d, a:special64",                                  "identity"),
          pure(MOVE, "9.7.9.2",     "7.8", 90, "mov.pred d, a:specialpred",                                         "identity"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.<u32|b32|u64|b64> d, a:symbol",                                 "identity"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.b32 d, a:b16*2",                                                "pack"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.b64 d, a:b32*2",                                                "pack64"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.b64 d, a:b16*4",                                                "pack4"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.b64 d:b16*4, a",                                                "quarter0", "quarter1", "quarter2", "quarter3"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.b32 d:b16*2, a",                                                "low16", "high16"),
          pure(MOVE, "9.7.9.2",     "1.0", 20, "mov.b64 d:b32*2, a",                                                "low32", "high32"),

          // control
          row( "9.7.12.3",    "1.0", 20, "bra{.uni} a:label",                                                 new Branch()),
          row( "9.7.12.6",    "1.0", 20, "ret",                                                               new Exit(true)),
          row( "9.7.12.7",    "1.0", 20, "exit",                                                              new Exit(false)),

          row( "9.7.19.1",    "1.0", 20, "brkpt",                                                             new Trap()),
          row( "9.7.19.4",    "1.0", 20, "trap",                                                              new Trap()),
          row( "9.7.19.2",    "6.2", 70, "nanosleep.u32 t",                                                   new NoEffect()),
          row( "9.7.19.3",    "1.4", 20, "pmevent n:literal",                                                 new NoEffect()),
          row( "9.7.19.3",    "3.0", 20, "pmevent.mask n:literal",                                            new NoEffect()));
  // spotless:on

  private static final List<InstructionForm> TABLE =
      Stream.of(
              OTHERS,
              IntegerRows.ALL,
              VideoRows.ALL,
              FloatRows.ALL,
              HalfRows.ALL,
              ComparisonRows.ALL,
              ConversionRows.ALL,
              MemoryRows.ALL,
              WarpRows.ALL,
              BarrierRows.ALL,
              MbarrierRows.ALL,
              BulkRows.ALL,
              WgmmaRows.ALL,
              Tcgen05Rows.ALL,
              FunctionRows.ALL,
              MatrixRows.ALL)
          .flatMap(List::stream)
          .toList();
  private static final Pattern UNSUPPORTED =
      Pattern.compile("tex|tld4|txq|istypep|suld|sust|sured|suq");

  private static final Pattern VOLTA = Pattern.compile("mma\\..*\\.m8n8k4\\..*f16.*");
  private static final Pattern SPARSE = Pattern.compile("(mma|wgmma\\.mma_async)\\.sp(::|\\.).*");
  private static final Pattern TENSOR_MEMORY =
      Pattern.compile(
          "tcgen05\\.(?:(?:cp|shift)\\.|.*(?:cta_group::2|\\.sp\\b|\\.ws\\b|block_scale|\\.ld\\.red\\b|16x32bx2)).*");
  private static final Pattern COPY_MODE =
      Pattern.compile("^cp\\..*(\\.im2col[:\\w]*|\\.tile::\\w+)");

  /** An opcode with a {@link Modifier.Part}. */
  private static final Pattern PART = Pattern.compile("([^:]+)\\.([a-d]):(\\w+).*");

  private static final Map<String, List<InstructionForm>> BY_MNEMONIC =
      TABLE.stream().collect(Collectors.groupingBy(InstructionForm::mnemonic));

  /** The rows of the valid opcodes that have been found. */
  private static final Map<String, List<Match>> FITTING = new ConcurrentHashMap<>();

  private InstructionTable() {}

  /** Returns all rows. */
  public static List<InstructionForm> all() {
    return TABLE;
  }

  /** A row with modifiers. */
  public record Match(InstructionForm form, Modifiers modifiers) {}

  /**
   * Returns the row of an opcode such as {@code fma.rn.f32} with these operands.
   *
   * @throws IllegalArgumentException if there is none; the message gives the syntax
   */
  public static Match find(String opcode, List<Operand> operands) {
    var known = choose(FITTING.getOrDefault(opcode, List.of()), operands);
    if (known.isPresent()) {
      return known.get();
    }
    var words = opcode.split("\\.");
    var rows = BY_MNEMONIC.get(words[0]);
    if (rows == null) {
      throw new IllegalArgumentException(
          UNSUPPORTED.matcher(words[0]).matches()
              ? words[0] + " is not supported; textures and surfaces are out of scope"
              : "unknown instruction \"%s\"; supported are %s"
                  .formatted(
                      words[0],
                      BY_MNEMONIC.keySet().stream().sorted().collect(Collectors.joining(", "))));
    }
    var mode = COPY_MODE.matcher(opcode);
    if (mode.find()) {
      throw new IllegalArgumentException(
          opcode + " is not supported; tensor copies support tiles, not " + mode.group(1));
    }
    if (VOLTA.matcher(opcode).matches()) {
      throw new IllegalArgumentException(
          "mma.m8n8k4 of .f16 is not supported because only Volta has it; use m16n8k8 or m16n8k16");
    }
    if (TENSOR_MEMORY.matcher(opcode).matches()) {
      throw new IllegalArgumentException(
          opcode
              + " is not supported; of tcgen05, copies, shifts, pairs of blocks, sparse,"
              + " weight-stationary and block-scaled products and the shape 16x32bx2 are out of scope");
    }
    var sparse = SPARSE.matcher(opcode);
    if (sparse.matches()) {
      throw new IllegalArgumentException(
          sparse.group(1) + ".sp is not supported; sparse products are out of scope");
    }
    var modifiers = Arrays.stream(words).skip(1).map(Modifier::of).toList();
    var found = find(words[0], modifiers, operands);
    FITTING.put(opcode, fitting(words[0], modifiers));
    return found;
  }

  private static Match find(String mnemonic, List<Modifier> modifiers, List<Operand> operands) {
    var fitting = fitting(mnemonic, modifiers);
    return choose(fitting, operands)
        .orElseThrow(() ->
            new IllegalArgumentException(
                errorMessage(
                    mnemonic + new Modifiers(modifiers), operands, rows(mnemonic), fitting)));
  }

  private static List<InstructionForm> rows(String mnemonic) {
    return BY_MNEMONIC.getOrDefault(mnemonic, List.of());
  }

  /** Returns the rows that have an opcode, whatever its operands. */
  private static List<Match> fitting(String mnemonic, List<Modifier> modifiers) {
    var fitting = new ArrayList<Match>();
    for (var row : rows(mnemonic)) {
      row.match(modifiers).ifPresent(chosen -> fitting.add(new Match(row, chosen)));
    }
    return fitting;
  }

  private static Optional<Match> choose(List<Match> fitting, List<Operand> operands) {
    Match first = null;
    for (var match : fitting) {
      if (match.form().acceptsShapes(operands, match.modifiers())) {
        if (match.form().acceptsClasses(operands, match.modifiers())) {
          return Optional.of(match);
        }
        first = first == null ? match : first;
      }
    }
    return Optional.ofNullable(first);
  }

  /**
   * Creates an instruction and converts its literals to the types of its row.
   *
   * @param opcode opcode, such as {@code fma.rn.f32}
   * @throws IllegalArgumentException if there is no such instruction or a literal does not fit
   */
  public static Statement.Instruction instruction(
      String opcode, List<Operand> operands, Statement.@Nullable Guard guard, Source source) {
    return instruction(find(opcode, operands), operands, guard, source);
  }

  /**
   * Creates an instruction and converts its literals to the types of its row.
   *
   * @param modifiers modifiers in any order
   * @throws IllegalArgumentException if there is no such instruction or a literal does not fit
   */
  public static Statement.Instruction instruction(
      String mnemonic,
      List<Modifier> modifiers,
      List<Operand> operands,
      Statement.@Nullable Guard guard,
      Source source) {
    return instruction(find(mnemonic, modifiers, operands), operands, guard, source);
  }

  private static Statement.Instruction instruction(
      Match match, List<Operand> operands, Statement.@Nullable Guard guard, Source source) {
    var typed = new ArrayList<Operand>();
    for (int i = 0; i < operands.size(); i++) {
      typed.add(resolved(operands.get(i), match.form().operands().get(i), match.modifiers()));
    }
    return new Statement.Instruction(match.form(), match.modifiers(), typed, guard, source);
  }

  private static Operand resolved(Operand operand, OperandSlot slot, Modifiers modifiers) {
    return switch (operand) {
      case Operand.Immediate literal -> slot.literal(literal, 0, modifiers);
      case Operand.Element(var address) ->
          slot.kind() == OperandSlot.Kind.MEMORY
              ? new Operand.Address(new Operand.Symbol(address.name()), address.offset())
              : address;
      case Operand.Vector vector when slot.isBracedScalar(vector, modifiers) ->
          resolved(vector.elements().getFirst(), slot, modifiers);
      case Operand.Vector vector ->
          Operand.Vector.of(
              IntStream.range(0, vector.elements().size())
                  .mapToObj(i ->
                      vector.elements().get(i) instanceof Operand.Immediate literal
                          ? slot.literal(literal, i, modifiers)
                          : vector.elements().get(i))
                  .toList());
      default -> operand;
    };
  }

  private static String errorMessage(
      String opcode, List<Operand> operands, List<InstructionForm> rows, List<Match> fitting) {
    var part = opcode.indexOf(':') < 0 ? null : PART.matcher(opcode);
    if (fitting.isEmpty() && part != null && part.matches()) {
      return "%s takes whole registers, not part %s of operand %s; it is written %s"
          .formatted(part.group(1), part.group(3), part.group(2), syntax(rows));
    }
    if (fitting.isEmpty()) {
      return "unknown instruction \"%s\"; the syntax of %s is %s"
          .formatted(opcode, rows.getFirst().mnemonic(), syntax(rows));
    }
    return "%s takes %s, not (%s)"
        .formatted(
            opcode,
            fitting.stream().map(InstructionTable::operandsOf).collect(Collectors.joining(" or ")),
            operands.stream().map(Operand::toString).collect(Collectors.joining(", ")));
  }

  private static String syntax(List<InstructionForm> rows) {
    return rows.stream().map(InstructionForm::syntax).collect(Collectors.joining(" or "));
  }

  private static String operandsOf(Match match) {
    return match.form().operands().stream()
        .map(slot -> slot.name().word() + " = " + slot.describe(match.modifiers()))
        .collect(Collectors.joining(", ", "(", ")"));
  }
}
