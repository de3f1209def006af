package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.EnumRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Mixed;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.bytecode.JavaValue.Unconstructed;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.LookupSwitchInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.classfile.instruction.TableSwitchInstruction;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Translates a method block by block, in reverse postorder. A block that several edges enter gets a
 * parameter for each number in its frame; a later pass removes those that are always one value.
 */
final class MethodTranslator {

  /** An edge into a block that is not translated yet, and the frame at its start. */
  private record Arrival(Edge edge, Frame frame) {}

  /**
   * The end of an inlined method.
   *
   * @param block where the caller goes on; null if the method never returns
   */
  record Result(@Nullable Block block, @Nullable JavaValue value) {}

  /** The position where all returns meet. */
  private static final int RETURN = -1;

  /** Cases of a switch that are compared without a search. */
  private static final int MOST_COMPARED = 3;

  private final Translation to;
  private final MethodCode code;
  private final InstructionTranslator instructions;
  private final Map<Integer, Block> blocks = new HashMap<>();
  private final Map<Integer, List<Arrival>> arrivals = new HashMap<>();
  private final Map<Integer, Frame> begun = new HashMap<>();
  private final List<Arrival> returns = new ArrayList<>();

  /** Null if the method has no frame of its own in debuggers. */
  private final @Nullable CallSymbols symbols;

  /** The position of the last return, and its frame for a debugger. */
  private int lastReturn = -1;

  private @Nullable SourceFrame lastFrame;

  MethodTranslator(Translation to, MethodCode code) {
    this.to = to;
    this.code = code;
    symbols = CallSymbols.of(to, code);
    instructions = new InstructionTranslator(to, code, symbols);
  }

  /** Translates the method at the end of the current block. */
  Result translate(List<JavaValue> arguments) {
    var frame = new Frame(code.maxLocals());
    int slot = 0;
    for (var argument : arguments) {
      frame.setLocal(slot, argument);
      slot += argument.isWide() ? 2 : 1;
    }
    jump(0, frame);
    for (int leader : code.order()) {
      if (arrivals.containsKey(leader)) {
        translateBlock(leader);
      }
    }
    return finish();
  }

  private void translateBlock(int leader) {
    var frame = begin(leader);
    int end = code.endOf(leader);
    if (symbols != null && leader == 0) {
      symbols.enter(frame);
    }
    for (int at = leader; at < end; at++) {
      var line = code.lines().get(at);
      to.setLine(line.source());
      if (symbols != null) {
        symbols.at(at, frame);
      }
      switch (line.instruction()) {
        case BranchInstruction branch -> branch(branch, at, frame);
        case TableSwitchInstruction choice ->
            choose(choice.cases(), code.position(choice.defaultTarget()), frame);
        case LookupSwitchInstruction choice ->
            choose(choice.cases(), code.position(choice.defaultTarget()), frame);
        case ReturnInstruction result -> leave(result, at, frame);
        default -> {
          if (!instructions.translate(line.instruction(), at, frame)) {
            return;
          }
          if (at == end - 1) {
            jump(end, frame);
          }
        }
      }
    }
  }

  /** Starts a block with the values of the edges into it. */
  private Frame begin(int leader) {
    var incoming = arrivals.getOrDefault(leader, List.of());
    var block = blockAt(leader);
    to.setBlock(block);
    var frame = incoming.getFirst().frame.copy();
    if (incoming.size() > 1 || code.predecessors(leader) > 1) {
      var template = frame.with(merge(incoming, block, leader));
      begun.put(leader, template);
      incoming.forEach(each -> connect(each, block, leader, template));
      frame = template.copy();
    }
    return frame;
  }

  /** Returns the slots that all frames have in common, with a new parameter for each number. */
  private List<@Nullable JavaValue> merge(List<Arrival> incoming, Block block, int leader) {
    var merged = new ArrayList<@Nullable JavaValue>();
    var first = incoming.getFirst().frame.slots();
    for (int slot = 0; slot < first.size(); slot++) {
      var value = code.isLive(slot, leader) ? first.get(slot) : null;
      for (var other : incoming) {
        value = common(value, other.frame.slots().get(slot));
      }
      if (value instanceof Mixed(var refusal) && slot >= incoming.getFirst().frame.locals()) {
        throw new LiftException(refusal, to.source(), code.name(), "a conditional expression");
      }
      if (value != null && isConstantOnStack(slot, incoming, leader)) {
        merged.add(value); // the index of an element of an array that is being filled
        continue;
      }
      if (value != null) {
        var parameters = value.parts().map(part -> to.phi(part.type())).toList();
        block.parameters().addAll(parameters);
        value = value.with(parameters.iterator());
      }
      merged.add(value);
    }
    return merged;
  }

  /**
   * Returns whether a stack slot is a number that all edges into a block know. Compilers let no
   * loop change what is on the stack before it.
   */
  private static boolean isConstantOnStack(int slot, List<Arrival> incoming, int leader) {
    if (slot < incoming.getFirst().frame.locals() || leader == RETURN) {
      return false;
    }
    var known =
        incoming.stream().map(each -> constant(each.frame.slots().get(slot))).distinct().toList();
    return known.size() == 1 && known.getFirst().isPresent();
  }

  /** Returns the number that a slot is; empty if it is not known. */
  private static Optional<Object> constant(@Nullable JavaValue slot) {
    return slot instanceof Scalar(var value) && value.is(Op.CONSTANT)
        ? Optional.of(value.attribute(Object.class))
        : Optional.empty();
  }

  /** Returns what a variable holds after two paths; null if it cannot be read. */
  private static @Nullable JavaValue common(@Nullable JavaValue one, @Nullable JavaValue other) {
    if (one == null || other == null) {
      return null;
    }
    return one.matches(other) || one instanceof Mixed ? one : Mixed.of(one, other);
  }

  /** Passes the values of a frame to the parameters of a block. */
  private void connect(Arrival arrival, Block block, int leader, @Nullable Frame template) {
    if (template == null) {
      return;
    }
    var arguments = new ArrayList<Value>();
    var given = arrival.frame.slots();
    var wanted = template.slots();
    for (int slot = 0; slot < wanted.size(); slot++) {
      var value = wanted.get(slot);
      var theirs = slot < given.size() ? given.get(slot) : null;
      if (constant(value).isPresent() && constant(value).equals(constant(theirs))) {
        continue; // it has no parameter
      }
      if (value != null && theirs != null && value.matches(theirs)) {
        theirs.parts().forEach(arguments::add);
      } else if (value != null) {
        if (theirs != null && !(value instanceof Mixed) && isReference(value)) {
          var refusal = Mixed.of(value, theirs).refusal();
          var name = code.variable(slot, leader).orElse("a variable");
          throw new LiftException(refusal, to.source(), code.name(), name);
        }
        // the class file verifier knows that the variable is not read
        value.parts().map(part -> zero(part.type())).forEach(arguments::add);
      }
    }
    arrival.edge.setArguments(arguments);
    if (arguments.size() != block.parameters().size()) {
      throw new IllegalStateException("frames of " + code.name() + " do not agree");
    }
  }

  private static boolean isReference(JavaValue value) {
    return !(value instanceof Scalar);
  }

  static Value zero(ValueType type) {
    return switch (type) {
      case INT -> Value.constant(0);
      case LONG -> Value.constant(0L);
      case FLOAT -> Value.constant(type, 0f);
      case DOUBLE -> Value.constant(type, 0.0);
      case BOOL, VOID -> Value.constant(false);
    };
  }

  private Block blockAt(int leader) {
    return blocks.computeIfAbsent(leader, _ -> new Block());
  }

  /** Returns an edge to a block, which arrives there with a frame. */
  private Edge edge(int target, Frame frame) {
    var edge = new Edge(blockAt(target));
    var arrival = new Arrival(edge, frame.copy());
    var template = begun.get(target);
    if (template != null) {
      connect(arrival, edge.target(), target, template);
    } else {
      arrivals.computeIfAbsent(target, _ -> new ArrayList<>()).add(arrival);
    }
    return edge;
  }

  private void jump(int target, Frame frame) {
    to.block().setEnd(new Terminator.Jump(edge(target, frame)));
  }

  private void branch(BranchInstruction branch, int at, Frame frame) {
    int target = code.position(branch.target());
    if (!MethodCode.isConditional(branch)) {
      jump(target, frame);
      return;
    }
    var condition = condition(branch, frame);
    if (condition.isConstant(true) || target == at + 1) {
      jump(target, frame);
    } else if (condition.isConstant(false)) {
      jump(at + 1, frame);
    } else {
      to.block().setEnd(new Terminator.Branch(condition, edge(target, frame), edge(at + 1, frame)));
    }
  }

  private Value condition(BranchInstruction branch, Frame frame) {
    var word = branch.opcode().name();
    if (word.startsWith("IF_ACMP")
        && frame.pop() instanceof EnumRef other
        && frame.pop() instanceof EnumRef constant) {
      var relation = Relation.valueOf(word.substring(word.length() - 2));
      return to.compare(relation, constant.ordinal(), other.ordinal());
    }
    if (!word.matches("IF_ICMP..|IF(EQ|NE|LT|LE|GT|GE)")) {
      var refusal =
          switch (word) {
            case "JSR", "JSR_W" -> Refusal.SUBROUTINE;
            case "IFNULL", "IFNONNULL" -> Refusal.NULL;
            default -> Refusal.OBJECT_COMPARISON;
          };
      throw new LiftException(refusal, to.source(), code.name());
    }
    var relation = Relation.valueOf(word.substring(word.length() - 2));
    var b = word.startsWith("IF_ICMP") ? Translation.number(frame.pop()) : Value.constant(0);
    var a = Translation.number(frame.pop());
    return to.compare(relation, a, b);
  }

  /** Translates a switch to a chain of comparisons. */
  private void choose(List<SwitchCase> cases, int otherwise, Frame frame) {
    var selector = Translation.number(frame.pop());
    // javac adds a default to a switch that has all cases of an enum
    boolean hasAll = !cases.isEmpty() && failsToMatch(otherwise);
    int last = hasAll ? code.position(cases.getLast().target()) : otherwise;
    var ordered =
        cases.stream()
            .filter(each -> code.position(each.target()) != last)
            .sorted(Comparator.comparingInt(SwitchCase::caseValue))
            .toList();
    search(selector, ordered, last, frame);
  }

  private boolean failsToMatch(int position) {
    return code.lines().get(position).instruction() instanceof NewObjectInstruction created
        && created.className().asInternalName().equals("java/lang/MatchException");
  }

  /** Finds the case by binary search, down to a few that are compared one by one. */
  private void search(Value selector, List<SwitchCase> cases, int otherwise, Frame frame) {
    if (cases.size() > MOST_COMPARED) {
      int half = cases.size() / 2;
      var middle = Value.constant(cases.get(half).caseValue());
      var lower = new Block();
      var upper = new Block();
      to.block()
          .setEnd(
              new Terminator.Branch(
                  to.compare(Relation.LT, selector, middle), new Edge(lower), new Edge(upper)));
      to.setBlock(lower);
      search(selector, cases.subList(0, half), otherwise, frame);
      to.setBlock(upper);
      search(selector, cases.subList(half, cases.size()), otherwise, frame);
      return;
    }
    for (var each : cases) {
      var equal = to.compare(Relation.EQ, selector, Value.constant(each.caseValue()));
      var next = new Block();
      to.block()
          .setEnd(
              new Terminator.Branch(
                  equal, edge(code.position(each.target()), frame), new Edge(next)));
      to.setBlock(next);
    }
    jump(otherwise, frame);
  }

  private void leave(ReturnInstruction instruction, int at, Frame frame) {
    if (at > lastReturn) {
      lastReturn = at;
      lastFrame = to.position();
    }
    var edge = new Edge(new Block());
    to.block().setEnd(new Terminator.Jump(edge));
    var result = new Frame(0);
    if (instruction.typeKind() != TypeKind.VOID) {
      result.push(frame.pop());
    } else if (code.isConstructor()) {
      var self = Objects.requireNonNull(frame.local(0), "constructors keep their object there");
      result.push(self instanceof Unconstructed object ? object.constructed() : self);
    }
    returns.add(new Arrival(edge, result));
  }

  /** Lets all returns meet in one block. */
  private Result finish() {
    if (returns.isEmpty()) {
      return new Result(null, null);
    }
    var block = new Block();
    var merged = new Frame(0).with(merge(returns, block, RETURN));
    for (var each : returns) {
      each.edge.setTarget(block);
      connect(each, block, RETURN, merged);
    }
    to.setBlock(block);
    to.setPosition(lastFrame);
    return new Result(block, merged.stack().isEmpty() ? null : merged.pop());
  }
}
