package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.meaning.Shuffle;
import dev.athanor.vulkan.flow.Exchange;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The instructions that exchange values between the threads of a warp or a block: by operations on
 * subgroups, or through some words of shared memory for each thread and one for the block. With
 * shared memory, all threads of the block execute them together.
 *
 * <p>A condition selects the threads for which the program executes the instruction; null = all.
 */
final class Lanes {

  /** Size of what a thread provides to an exchange. */
  static final int WORD = 4;

  /** More would rarely save a barrier. */
  private static final int MAX_SOURCES = 8;

  private final Frame frame;
  private final Code code;
  private final Memory memory;

  /** The numbers of the open exchange's sources among the words of a thread. */
  private final Map<Operand, Integer> open = new HashMap<>();

  Lanes(Frame frame, Memory memory) {
    this.frame = frame;
    this.code = frame.code;
    this.memory = memory;
  }

  /** Returns the number of the threads' words of scratch memory. */
  private static int words(int threads) {
    return Math.ceilDiv(threads, Warps.SIZE) * Warps.SIZE;
  }

  /** Returns how many words of each thread an exchange can have. */
  private int maxSources() {
    int left = frame.features.sharedBytes() - memory.kernelBytes() - WORD;
    return Math.clamp(left / (WORD * words(frame.threads())), 1, MAX_SOURCES);
  }

  /** Returns a pointer to the word of the block. */
  private int blockScratch() {
    return memory.scratch(code.u32(0), WORD);
  }

  /** Returns a pointer to one of the words of a thread. */
  private int scratch(int number, Value thread) {
    int before = 1 + number * words(frame.threads());
    return memory.scratch(code.add(thread, before), WORD * (before + words(frame.threads())));
  }

  // exchanges

  /** Returns the sources of a loop of one block that lanes can exchange before it. */
  Set<Operand> beforeLoop(List<Instruction> block) {
    return frame.subgroups ? Set.of() : Exchange.beforeLoop(block, maxSources());
  }

  /** Splits a block into exchanges; if one is open, it is for all of the block's shuffles. */
  List<Exchange> exchanges(List<Instruction> block) {
    return frame.subgroups || !open.isEmpty()
        ? List.of(new Exchange(block, Set.of()))
        : Exchange.split(block, maxSources());
  }

  /** Provides the sources of the next shuffles to the other lanes. */
  void open(Set<Operand> sources) {
    if (sources.isEmpty()) {
      return;
    }
    var thread = frame.linear();
    for (var source : sources) {
      code.storeShared(scratch(open.size(), thread), frame.bits(source, Type.B32));
      open.put(source, open.size());
    }
    code.barrier();
  }

  /** Ends an exchange, so that the scratch memory is free for the next one. */
  void close(Set<Operand> sources) {
    if (!sources.isEmpty()) {
      open.clear();
      code.barrier();
    }
  }

  /** Returns the value that a lane provides, in shared memory as a word with a number. */
  private Value inLane(Value lane, Value own, int number) {
    if (frame.subgroups) {
      code.module.capability(Spirv.GROUP_NON_UNIFORM_SHUFFLE);
      int scope = code.module.word(Spirv.SUBGROUP_SCOPE);
      int words = code.module.integer(32);
      return new Value(
          code.result(Spirv.GROUP_SHUFFLE, words, scope, own.id(), lane.id()), Scalar.U32);
    }
    var first = code.and(frame.linear(), -Warps.SIZE);
    return code.loadShared(scratch(number, code.or(first, lane)));
  }

  /** Returns the lanes whose predicate is true. */
  private Value ballot(Value predicate) {
    int words = code.module.integer(32);
    if (frame.subgroups) {
      code.module.capability(Spirv.GROUP_NON_UNIFORM_BALLOT);
      int all =
          code.result(
              Spirv.GROUP_BALLOT,
              code.module.vector(words, 4),
              code.module.word(Spirv.SUBGROUP_SCOPE),
              predicate.id());
      return new Value(code.result(Spirv.COMPOSITE_EXTRACT, words, all, 0), Scalar.U32);
    }
    var lane = frame.lane();
    int pointer = scratch(0, code.and(frame.linear(), -Warps.SIZE));
    code.onlyIf(code.equal(lane, 0), () -> code.storeShared(pointer, code.u32(0)));
    code.barrier();
    var bit = code.select(predicate, code.shl(code.u32(1), lane), code.u32(0));
    memory.atomic(Spirv.ATOMIC_OR, pointer, Spirv.WORKGROUP_SCOPE, bit);
    code.barrier();
    var all = code.loadShared(pointer);
    code.barrier();
    return all;
  }

  /** Returns the number of threads of the block whose predicate is true. */
  Value count(Value predicate) {
    int pointer = blockScratch();
    code.onlyIf(code.equal(frame.linear(), 0), () -> code.storeShared(pointer, code.u32(0)));
    code.barrier();
    var one = code.select(predicate, code.u32(1), code.u32(0));
    memory.atomic(Spirv.ATOMIC_I_ADD, pointer, Spirv.WORKGROUP_SCOPE, one);
    code.barrier();
    var sum = code.loadShared(pointer);
    code.barrier();
    return sum;
  }

  private static Value both(Code code, Value predicate, @Nullable Value condition) {
    return condition == null ? predicate : code.and(condition, predicate);
  }

  /** Writes results where the condition holds. */
  private void write(@Nullable Value condition, Runnable results) {
    if (condition == null) {
      results.run();
    } else {
      code.onlyIf(condition, results);
    }
  }

  private void write(
      @Nullable Value condition, Operand result, Value value, @Nullable Value isTrue) {
    var list =
        result instanceof Operand.Pair(var first, var second)
            ? List.of(first, second)
            : List.of(result);
    write(
        condition,
        () -> {
          frame.store(list.getFirst(), value, value.type() == Scalar.BOOL ? Type.PRED : Type.B32);
          if (list.size() > 1 && isTrue != null) {
            frame.store(list.getLast(), isTrue, Type.PRED);
          }
        });
  }

  void warpBarrier() {
    if (frame.subgroups) {
      int scope = code.module.word(Spirv.SUBGROUP_SCOPE);
      code.effect(Spirv.CONTROL_BARRIER, scope, scope, code.module.ordered());
    } else {
      code.barrier();
    }
  }

  void warp(Instruction i, Semantics.WarpKind kind, @Nullable Value condition) {
    switch (kind) {
      case SHUFFLE -> shuffle(i, condition);
      case VOTE -> vote(i, condition, frame.bits(i.operands().get(2), Type.U32));
      case MATCH -> match(i, condition);
      default -> throw new UnsupportedKernelException("it has " + i.opcode());
    }
  }

  /** Instructions for the lanes that happen to execute together. */
  void converged(Instruction i, @Nullable Value condition) {
    if (i.form().mnemonic().equals("activemask")) {
      write(
          condition, i.operands().getFirst(), ballot(both(code, code.bool(true), condition)), null);
    } else if (i.form().mnemonic().equals("vote")) {
      vote(i, condition, null);
    } else {
      shuffle(i, condition);
    }
  }

  private void shuffle(Instruction i, @Nullable Value condition) {
    var lane = frame.lane();
    var steps = code.and(frame.bits(i.operands().get(2), Type.U32), Warps.SIZE - 1);
    var range = frame.bits(i.operands().get(3), Type.U32);
    var segment = code.and(code.shr(range, 8), Warps.SIZE - 1);
    var clamp = code.and(range, Warps.SIZE - 1);
    boolean whole =
        i.operands().get(3) instanceof Operand.Immediate literal
            && (literal.bits() & 0x1F1F) == (Shuffle.of(i.modifiers()) == Shuffle.UP ? 0 : 31);
    var last = whole ? clamp : code.or(code.and(lane, segment), code.and(clamp, code.not(segment)));
    var source =
        switch (Shuffle.of(i.modifiers())) {
          case UP -> code.sub(lane, steps);
          case DOWN -> code.add(lane, steps);
          case BFLY -> code.xor(lane, steps);
          case IDX ->
              whole ? steps : code.or(code.and(lane, segment), code.and(steps, code.not(segment)));
        };
    var inRange =
        Shuffle.of(i.modifiers()) == Shuffle.UP
            ? code.test(Spirv.S_GREATER_THAN_EQUAL, source, last)
            : code.test(Spirv.S_LESS_THAN_EQUAL, source, last);
    boolean always = whole && (i.modifiers().has("bfly") || i.modifiers().has("idx"));
    var own = Exchange.source(i);
    var value =
        inLane(
            always ? source : code.select(inRange, source, lane),
            frame.bits(own, Type.B32),
            open.getOrDefault(own, 0));
    write(condition, i.operands().getFirst(), value, inRange);
  }

  private void vote(Instruction i, @Nullable Value condition, @Nullable Value members) {
    var predicate = frame.bits(i.operands().get(1), Type.PRED);
    var modifiers = i.modifiers();
    Value result;
    if (modifiers.has("ballot")) {
      result = masked(ballot(both(code, predicate, condition)), members);
    } else {
      var yes = masked(ballot(both(code, predicate, condition)), members);
      var no = masked(ballot(both(code, code.not(predicate), condition)), members);
      var all = code.equal(no, 0);
      var none = code.equal(yes, 0);
      result =
          modifiers.has("all") ? all : modifiers.has("any") ? code.not(none) : code.or(all, none);
    }
    write(condition, i.operands().getFirst(), result, null);
  }

  private Value masked(Value lanes, @Nullable Value members) {
    return members == null ? lanes : code.and(lanes, members);
  }

  private void match(Instruction i, @Nullable Value condition) {
    var type = i.modifiers().type().orElseThrow();
    var own = frame.bits(i.operands().get(1), type);
    var active = ballot(both(code, code.bool(true), condition));
    var members = code.and(active, frame.bits(i.operands().get(2), Type.U32));
    var same = same(code.low(own));
    if (type.bits() == 64) {
      same = code.and(same, same(code.high(own)));
    }
    same = code.and(same, members);
    var all = code.equal(same, members);
    var result = i.modifiers().has("all") ? code.select(all, same, code.u32(0)) : same;
    write(condition, i.operands().getFirst(), result, all);
  }

  /** Returns the lanes that have the lane's own word. */
  private Value same(Value own) {
    if (!frame.subgroups) {
      code.storeShared(scratch(0, frame.linear()), own);
      code.barrier();
    }
    var bits =
        IntStream.range(0, Warps.SIZE)
            .mapToObj(lane ->
                code.select(
                    code.equal(inLane(code.u32(lane), own, 0), own),
                    code.u32(1 << lane),
                    code.u32(0)))
            .reduce(code::or)
            .orElseThrow();
    if (!frame.subgroups) {
      code.barrier();
    }
    return bits;
  }

  void barrier(Instruction i, BarrierKind kind, @Nullable Value condition) {
    Operand result = new Operand.Sink();
    Value predicate = code.bool(true);
    for (int at = 0; at < i.operands().size(); at++) {
      var operand = i.operands().get(at);
      switch (i.form().operands().get(at).name()) {
        case A -> requireLiteral(i, operand, 0);
        case B -> requireLiteral(i, operand, frame.threads());
        case C -> predicate = frame.bits(operand, Type.PRED);
        default -> result = operand;
      }
    }
    var given = predicate;
    switch (kind) {
      case SYNC -> code.barrier();
      case ARRIVE -> throw new UnsupportedKernelException("it has " + i.opcode());
      case COUNT -> write(condition, result, count(both(code, given, condition)), null);
      case ANY ->
          write(
              condition,
              result,
              code.not(code.equal(count(both(code, given, condition)), 0)),
              null);
      case ALL ->
          write(
              condition,
              result,
              code.equal(count(both(code, code.not(given), condition)), 0),
              null);
    }
  }

  private static void requireLiteral(Instruction i, Operand operand, int value) {
    if (!(operand instanceof Operand.Immediate literal) || literal.bits() != value) {
      throw new UnsupportedKernelException(
          "it has %s: a barrier of Vulkan has no number and is for all threads of the block"
              .formatted(i));
    }
  }
}
