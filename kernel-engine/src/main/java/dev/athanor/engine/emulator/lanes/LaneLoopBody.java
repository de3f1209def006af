package dev.athanor.engine.emulator.lanes;

import static java.lang.constant.ConstantDescs.CD_Integer;
import static java.lang.constant.ConstantDescs.CD_int;

import dev.athanor.engine.emulator.lanes.LaneCode.Local;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/** Writes one method of a {@link LaneLoop}: the loops, and in them the code of a lane. */
final class LaneLoopBody {

  /**
   * The local variables of an operand.
   *
   * @param array of an operand in an array
   * @param value in the current lane
   * @param mask of the current warp, if the operand is a predicate register
   */
  private record Variables(LaneOperand operand, int array, Local value, int mask) {}

  private final CodeBuilder code;
  private final List<MethodHandle> functions;
  private final HandleConstants handles;
  private final int warp;
  private final int lane;
  private final int index;
  private final LaneCode laneCode;
  private final List<Variables> results = new ArrayList<>();
  private final List<Variables> sources = new ArrayList<>();

  LaneLoopBody(CodeBuilder code, List<MethodHandle> functions, HandleConstants handles) {
    this.code = code;
    this.functions = functions;
    this.handles = handles;
    this.warp = code.allocateLocal(TypeKind.INT);
    this.lane = code.allocateLocal(TypeKind.INT);
    this.index = code.allocateLocal(TypeKind.INT);
    this.laneCode = new LaneCode(code, index, lane);
  }

  /** Adds a result, whose array {@code push} pushes. */
  void addResult(LaneOperand operand, Runnable push) {
    int array = code.allocateLocal(TypeKind.REFERENCE);
    var value = laneCode.allocate(operand.storage().carrier());
    results.add(new Variables(operand, array, value, code.allocateLocal(TypeKind.INT)));
    push.run();
    code.astore(array);
  }

  /** Adds a source, whose array or value {@code push} pushes. */
  void addSource(LaneOperand operand, Runnable push) {
    int array = code.allocateLocal(TypeKind.REFERENCE);
    int mask = code.allocateLocal(TypeKind.INT);
    var value = laneCode.allocate(operand.storage().carrier());
    sources.add(new Variables(operand, array, value, mask));
    push.run();
    if (operand.scalar()) {
      laneCode.store(value);
    } else {
      code.astore(array);
    }
  }

  /** Writes the method for all lanes of the warps from {@code first} to {@code end - 1}. */
  void allWarps(int first, int end) {
    if (results.stream().noneMatch(LaneLoopBody::isMask)
        && sources.stream().noneMatch(LaneLoopBody::isMask)) {
      code.iload(first).loadConstant(5).ishl().istore(index);
      code.iload(end).loadConstant(5).ishl().istore(end);
      count(index, end, this::lane);
    } else {
      int lanes = code.allocateLocal(TypeKind.INT);
      code.loadConstant(32).istore(lanes);
      code.iload(first).istore(warp);
      count(
          warp,
          end,
          () -> {
            loadMasks();
            code.iconst_0().istore(lane);
            count(lane, lanes, this::laneOfWarp);
            storeMasks();
          });
    }
    code.return_();
  }

  /** Writes the method for the lanes of a warp whose bits are set in {@code mask}. */
  void oneWarp(int number, int mask) {
    int left = code.allocateLocal(TypeKind.INT);
    code.iload(number).istore(warp);
    code.iload(mask).istore(left);
    loadMasks();
    Label top = code.newLabel();
    Label end = code.newLabel();
    code.labelBinding(top).iload(left).ifeq(end);
    code.iload(left)
        .invokestatic(CD_Integer, "numberOfTrailingZeros", MethodTypeDesc.of(CD_int, CD_int))
        .istore(lane);
    laneOfWarp();
    code.iload(left).iload(left).iconst_1().isub().iand().istore(left);
    code.goto_(top).labelBinding(end);
    mergeMasks(mask);
    code.return_();
  }

  /** {@code while (left < right) { body; left++; }}. */
  private void count(int left, int right, Runnable body) {
    Label top = code.newLabel();
    Label end = code.newLabel();
    code.labelBinding(top).iload(left).iload(right).if_icmpge(end);
    body.run();
    code.iinc(left, 1).goto_(top).labelBinding(end);
  }

  /** Before the lanes of a warp: loads the masks of sources and clears those of results. */
  private void loadMasks() {
    for (var source : sources) {
      if (isMask(source)) {
        code.aload(source.array).iload(warp).iaload().istore(source.mask);
      }
    }
    for (var result : results) {
      if (isMask(result)) {
        code.iconst_0().istore(result.mask);
      }
    }
  }

  /** After all lanes of a warp: stores the masks of results. */
  private void storeMasks() {
    for (var result : results) {
      if (isMask(result)) {
        code.aload(result.array).iload(warp);
        code.iload(result.mask).iastore();
      }
    }
  }

  /** After some lanes of a warp: stores the masks of results; other lanes keep their bits. */
  private void mergeMasks(int mask) {
    for (var result : results) {
      if (isMask(result)) {
        code.aload(result.array).iload(warp);
        code.aload(result.array).iload(warp).iaload();
        code.iload(mask).iconst_m1().ixor().iand();
        code.iload(result.mask).ior().iastore();
      }
    }
  }

  private void laneOfWarp() {
    code.iload(warp).loadConstant(5).ishl().iload(lane).iadd().istore(index);
    lane();
  }

  private void lane() {
    for (var source : sources) {
      if (isMask(source)) {
        code.iload(source.mask);
        laneCode.extractBit();
        laneCode.store(source.value);
      } else if (!source.operand.scalar()) {
        code.aload(source.array);
        laneCode.loadElement(source.operand.storage());
        laneCode.store(source.value);
      }
    }
    laneCode.compute(
        functions,
        this::invoke,
        sources.stream()
            .<LaneCode.Source>map(source -> carrier -> laneCode.load(source.value, carrier))
            .toList(),
        results.stream().map(Variables::value).toList());
    for (var result : results) {
      if (isMask(result)) {
        code.iload(result.mask);
        laneCode.insertBit(result.value);
        code.istore(result.mask);
      } else {
        code.aload(result.array);
        laneCode.storeElement(result.operand.storage(), result.value);
      }
    }
  }

  private void invoke(MethodHandle function, IntConsumer push) {
    handles.invoke(
        code, function, () -> IntStream.range(0, function.type().parameterCount()).forEach(push));
  }

  private static boolean isMask(Variables variables) {
    return variables.operand.isMask();
  }
}
