package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import dev.athanor.engine.ptx.Source;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeModel;
import java.lang.classfile.Instruction;
import java.lang.classfile.Label;
import java.lang.classfile.MethodModel;
import java.lang.classfile.attribute.StackMapFrameInfo;
import java.lang.classfile.attribute.StackMapFrameInfo.SimpleVerificationTypeInfo;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.classfile.instruction.LineNumber;
import java.lang.classfile.instruction.LocalVariable;
import java.lang.classfile.instruction.LookupSwitchInstruction;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.classfile.instruction.TableSwitchInstruction;
import java.lang.classfile.instruction.ThrowInstruction;
import java.lang.classfile.instruction.TypeCheckInstruction;
import java.lang.constant.ClassDesc;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/** The instructions of a method, their lines, and the basic blocks that they form. */
final class MethodCode {

  /** An instruction with its line. */
  record Line(Instruction instruction, Source source) {}

  /** A local variable's name and type, from one instruction to another. */
  record Local(int slot, int from, int to, String name, ClassDesc type) {}

  private final MethodModel method;
  private final String owner;
  private final List<Line> lines = new ArrayList<>();
  private final Map<Label, Integer> positions = new HashMap<>();
  private final List<Local> locals = new ArrayList<>();
  private List<Integer> order = List.of();
  private final Map<Integer, BitSet> live = new HashMap<>();
  private final TreeMap<Integer, List<Integer>> blocks = new TreeMap<>();

  MethodCode(ClassModel type, MethodModel method) {
    this.method = method;
    owner = type.thisClass().asInternalName();
    var file =
        type.findAttribute(Attributes.sourceFile())
            .map(a -> a.sourceFile().stringValue())
            .orElse(owner.substring(owner.lastIndexOf('/') + 1));
    read(method.code().orElseThrow(), file);
  }

  private void read(CodeModel code, String file) {
    var source = new Source(file, 0, 0);
    var variables = new ArrayList<LocalVariable>();
    for (var element : code) {
      switch (element) {
        case LineNumber line -> source = new Source(file, line.line(), 0);
        case LabelTarget target -> positions.put(target.label(), lines.size());
        case LocalVariable variable -> variables.add(variable);
        case Instruction instruction -> lines.add(new Line(instruction, source));
        default -> {}
      }
    }
    for (var variable : variables) {
      locals.add(
          new Local(
              variable.slot(),
              positions.getOrDefault(variable.startScope(), 0),
              positions.getOrDefault(variable.endScope(), lines.size()),
              variable.name().stringValue(),
              variable.typeSymbol()));
    }
    code.findAttribute(Attributes.stackMapTable())
        .ifPresent(table -> table.entries().forEach(this::readLive));
    if (!code.exceptionHandlers().isEmpty()) {
      refuseHandlers(code);
    }
    findBlocks();
  }

  private void readLive(StackMapFrameInfo frame) {
    var slots = new BitSet();
    int slot = 0;
    for (var type : frame.locals()) {
      slots.set(slot, type != SimpleVerificationTypeInfo.TOP);
      boolean isWide =
          type == SimpleVerificationTypeInfo.LONG || type == SimpleVerificationTypeInfo.DOUBLE;
      slot += isWide ? 2 : 1;
    }
    live.put(position(frame.target()), slots);
  }

  /** Refuses handlers, by what javac made them of. */
  private void refuseHandlers(CodeModel code) {
    var monitor =
        lines.stream().filter(l -> l.instruction instanceof MonitorInstruction).findFirst();
    if (monitor.isPresent()) {
      throw new LiftException(Refusal.SYNCHRONIZED, monitor.get().source, name());
    }
    boolean isPattern =
        lines.stream()
            .anyMatch(l ->
                l.instruction instanceof NewObjectInstruction made
                    && made.className().asInternalName().equals("java/lang/MatchException"));
    if (isPattern) {
      var test =
          lines.stream()
              .filter(l ->
                  l.instruction instanceof TypeCheckInstruction
                      || l.instruction instanceof InvokeDynamicInstruction)
              .findFirst();
      throw new LiftException(Refusal.PATTERN, test.orElse(lines.getFirst()).source, name());
    }
    int first =
        code.exceptionHandlers().stream().mapToInt(h -> position(h.tryStart())).min().orElseThrow();
    throw new LiftException(Refusal.TRY, lines.get(first).source, name());
  }

  private void findBlocks() {
    var leaders = new TreeSet<Integer>(List.of(0));
    for (int i = 0; i < lines.size(); i++) {
      if (endsBlock(lines.get(i).instruction)) {
        leaders.addAll(targets(i));
        leaders.add(i + 1);
      }
    }
    leaders.remove(lines.size());
    for (int leader : leaders) {
      int last = lastOf(leader, leaders);
      blocks.put(leader, targets(last));
    }
    order = findOrder();
  }

  private int lastOf(int leader, NavigableSet<Integer> leaders) {
    var next = leaders.higher(leader);
    return (next == null ? lines.size() : next) - 1;
  }

  private static boolean endsBlock(Instruction instruction) {
    return instruction instanceof BranchInstruction
        || instruction instanceof TableSwitchInstruction
        || instruction instanceof LookupSwitchInstruction
        || instruction instanceof ReturnInstruction
        || instruction instanceof ThrowInstruction;
  }

  /** Returns the positions that may follow an instruction that is the last of its block. */
  private List<Integer> targets(int at) {
    var found = new LinkedHashSet<Integer>();
    switch (lines.get(at).instruction) {
      case BranchInstruction branch -> {
        if (isConditional(branch)) {
          found.add(at + 1);
        }
        found.add(position(branch.target()));
      }
      case TableSwitchInstruction choice -> {
        choice.cases().stream().map(SwitchCase::target).map(this::position).forEach(found::add);
        found.add(position(choice.defaultTarget()));
      }
      case LookupSwitchInstruction choice -> {
        choice.cases().stream().map(SwitchCase::target).map(this::position).forEach(found::add);
        found.add(position(choice.defaultTarget()));
      }
      case ReturnInstruction _, ThrowInstruction _ -> {}
      default -> found.add(at + 1);
    }
    return List.copyOf(found);
  }

  static boolean isConditional(BranchInstruction branch) {
    return switch (branch.opcode()) {
      case GOTO, GOTO_W -> false;
      default -> true;
    };
  }

  /** Returns the position of the instruction after a label. */
  int position(Label label) {
    return Optional.ofNullable(positions.get(label)).orElseThrow();
  }

  String name() {
    return method.methodName().stringValue();
  }

  boolean isConstructor() {
    return name().equals("<init>");
  }

  String owner() {
    return owner;
  }

  MethodModel method() {
    return method;
  }

  List<Line> lines() {
    return lines;
  }

  int maxLocals() {
    return method.findAttribute(Attributes.code()).orElseThrow().maxLocals();
  }

  /** Returns the position after the last instruction of a block. */
  int endOf(int leader) {
    var next = blocks.higherKey(leader);
    return next == null ? lines.size() : next;
  }

  /** Returns the position of each block, in reverse postorder. */
  List<Integer> order() {
    return order;
  }

  private List<Integer> findOrder() {
    var finished = new ArrayList<Integer>();
    var seen = new TreeSet<Integer>();
    var pending = new ArrayDeque<Integer>();
    pending.push(0);
    while (!pending.isEmpty()) {
      int block = pending.peek();
      seen.add(block);
      var next =
          blocks.getOrDefault(block, List.of()).stream().filter(b -> !seen.contains(b)).findFirst();
      if (next.isPresent()) {
        pending.push(next.get());
      } else {
        finished.add(pending.pop());
      }
    }
    return finished.reversed();
  }

  /** Returns the number of blocks that may precede a block; the start counts as one of block 0. */
  int predecessors(int block) {
    int before =
        (int) order.stream().filter(b -> blocks.getOrDefault(b, List.of()).contains(block)).count();
    return before + (block == 0 ? 1 : 0);
  }

  /** Returns whether a frame's slot can be read after a position: the class file declares it. */
  boolean isLive(int slot, int at) {
    var slots = live.get(at);
    return slots == null || slot >= maxLocals() || slots.get(slot);
  }

  /** Returns the name of a local variable at an instruction. */
  Optional<String> variable(int slot, int at) {
    return assigned(slot, at).map(Local::name);
  }

  /** Returns the local variable that an instruction stores to, or that has a value there. */
  Optional<Local> assigned(int slot, int at) {
    return locals.stream()
        .filter(local -> local.slot == slot && local.from <= at + 1 && at < local.to)
        .findFirst();
  }

  /** Returns the local variables that have values before an instruction, by their slots. */
  List<Local> visible(int at) {
    return locals.stream()
        .filter(local -> local.from <= at && at < local.to)
        .sorted(Comparator.comparingInt(Local::slot))
        .toList();
  }

  /** Returns whether it is probably an accessor or a constructor that a record has implicitly. */
  boolean isImplicitInRecord() {
    boolean isOneLine = lines.stream().map(Line::source).distinct().count() == 1;
    boolean reads = lines.stream().anyMatch(line -> line.instruction instanceof FieldInstruction);
    return isOneLine && reads && (name().equals("<init>") || lines.size() == 3);
  }

  /** Returns whether the class file has the names of the local variables. */
  boolean namesVariables() {
    return !locals.isEmpty() || maxLocals() == 0;
  }
}
