package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.emulator.async.BulkSteps.Completion;
import dev.athanor.engine.emulator.async.TensorMemorySteps.TensorAddress;
import dev.athanor.engine.emulator.async.TransferEndpoint.Reduction;
import dev.athanor.engine.emulator.async.WgmmaSteps.Left;
import dev.athanor.engine.emulator.async.WgmmaSteps.Right;
import dev.athanor.engine.emulator.memory.EncodedTensorMap;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.SimpleSteps;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.OperandSlot.Name;
import dev.athanor.engine.ptx.Semantics.MbarrierKind;
import dev.athanor.engine.ptx.Semantics.TensorMemoryKind;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.ReductionOperation;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Binds an asynchronous instruction to the registers of a block. */
public final class AsyncBinder {

  /** Returns the register of an operand, or a register that holds its value. */
  @FunctionalInterface
  public interface Sources {
    Lanes of(Operand operand, Type type);
  }

  private final AsyncState async;
  private final Block block;
  private final Instruction instruction;
  private final Sources sources;

  public AsyncBinder(AsyncState async, Instruction instruction, Sources sources) {
    this.async = async;
    this.block = async.block;
    this.instruction = instruction;
    this.sources = sources;
  }

  public Step operate(MbarrierKind kind) {
    return new MbarrierSteps.Operate(
        async,
        instruction,
        kind,
        addresses(Name.A),
        optional(Name.COUNT, Type.U32),
        optional(Name.TRANSACTION_COUNT, Type.U32),
        optional(Name.D, Type.B64));
  }

  public Step testWait() {
    return new MbarrierSteps.TestWait(async, instruction, addresses(Name.A), asked(), result());
  }

  public Step tryWait() {
    return new MbarrierSteps.TryWait(async, instruction, addresses(Name.A), asked(), result());
  }

  private Lanes asked() {
    return required(Name.STATE, instruction.modifiers().has("parity") ? Type.U32 : Type.B64);
  }

  private Lanes result() {
    return required(Name.P, Type.PRED);
  }

  public Step copyArrive() {
    return new MbarrierSteps.CopyArrive(async, instruction, addresses(Name.A));
  }

  public Step bulkCopy() {
    var operation = reduction();
    return new BulkSteps.Copy(
        async,
        instruction,
        completion(Name.MBARRIER),
        addresses(Name.D),
        addresses(Name.A),
        required(Name.SIZE, Type.U32),
        optional(Name.BYTE_MASK, Type.U16),
        operation == null
            ? null
            : reduction(operation, instruction.modifiers().type().orElseThrow()));
  }

  public Step tensorCopy() {
    var tile = (Operand.Tile) Objects.requireNonNull(operand(Name.TENSOR));
    var operation = reduction();
    Function<TensorMap, Reduction> combine =
        operation == null ? null : map -> reduction(operation, type(map.element()));
    return new BulkSteps.TensorCopy(
        async,
        instruction,
        completion(Name.MBARRIER),
        new Addresses(block, instruction, null, sources.of(tile.map(), Type.U64), 0),
        tile.coordinates().stream().map(c -> sources.of(c, Type.S32)).toList(),
        addresses(operand(Name.D) == null ? Name.A : Name.D),
        combine);
  }

  private static Type type(TensorMap.Element element) {
    return switch (element) {
      case U8 -> Type.U8;
      case U16 -> Type.U16;
      case U32 -> Type.U32;
      case S32 -> Type.S32;
      case U64 -> Type.U64;
      case S64 -> Type.S64;
      case F16 -> Type.F16;
      case F32, F32_FTZ -> Type.F32;
      case F64 -> Type.F64;
      case BF16 -> Type.BF16;
      case TF32, TF32_FTZ -> Type.TF32;
    };
  }

  public Step storeAsync() {
    var type = instruction.modifiers().type().orElseThrow();
    var operation = reduction();
    return new BulkSteps.Store(
        async,
        instruction,
        completion(Name.MBARRIER),
        addresses(Name.D),
        elements(Objects.requireNonNull(operand(Name.B))).map(o -> sources.of(o, type)).toList(),
        type.bytes(),
        operation == null ? null : reduction(operation, type));
  }

  public Step replace() {
    var words = instruction.modifiers().list().stream().map(Modifier::word).toList();
    int bytes = instruction.modifiers().type().orElseThrow().bytes();
    int index = operand(Name.ORDINAL) == null ? 0 : (int) literal(Name.ORDINAL);
    return new BulkSteps.Replace(
        block,
        addresses(Name.A),
        EncodedTensorMap.offset(words.get(2)) + bytes * index,
        required(Name.NEW_VALUE, bytes == Long.BYTES ? Type.B64 : Type.B32),
        bytes);
  }

  public Step fenceMap() {
    return new BulkSteps.FenceMap(block, addresses(Name.A));
  }

  public Step copyMap() {
    return new BulkSteps.CopyMap(block, addresses(Name.D), addresses(Name.A));
  }

  public Step multiply() {
    var modifiers = instruction.modifiers();
    var types = modifiers.types();
    // eight .b1 elements are addressed as one byte
    int bits = Math.max(Byte.SIZE, types.get(1).bits());
    var given = MatrixShape.of(modifiers);
    var shape = new MatrixShape(given.m(), given.n(), given.k() * types.get(1).bits() / bits);
    var a = Objects.requireNonNull(operand(Name.A));
    var left =
        a instanceof Operand.Vector v
            ? new Left(v.elements().stream().map(o -> sources.of(o, Type.B32)).toList(), null, true)
            : new Left(List.of(), sources.of(a, Type.B64), isZero(Name.TRANSPOSE_A));
    return new WgmmaSteps.Multiply(
        async,
        instruction,
        elements(Objects.requireNonNull(operand(Name.D)))
            .map(o -> sources.of(o, slot(Name.D).type(modifiers)))
            .toList(),
        left,
        new Right(required(Name.B, Type.B64), isZero(Name.TRANSPOSE_B)),
        required(Name.SCALE_D, Type.PRED),
        shape,
        bits,
        WgmmaProduct.of(shape, modifiers, scale(Name.SCALE_A), scale(Name.SCALE_B)));
  }

  public Step tensorMemory(TensorMemoryKind kind) {
    var modifiers = instruction.modifiers();
    return switch (kind) {
      case ALLOCATE ->
          new TensorMemorySteps.Allocate(
              async, instruction, addresses(Name.A), required(Name.N, Type.U32));
      case DEALLOCATE ->
          new TensorMemorySteps.Deallocate(
              async, instruction, required(Name.A, Type.B32), required(Name.N, Type.U32));
      case RELINQUISH -> new TensorMemorySteps.Relinquish(async, instruction);
      case LOAD, STORE -> {
        boolean load = kind == TensorMemoryKind.LOAD;
        yield new TensorMemorySteps.Move(
            async,
            instruction,
            tensorAddress(Name.A),
            elements(Objects.requireNonNull(operand(load ? Name.D : Name.B)))
                .map(o -> sources.of(o, Type.B32))
                .toList(),
            words(modifiers),
            load,
            modifiers.has("pack::16b") || modifiers.has("unpack::16b"));
      }
      case WAIT_LOADS -> new TensorMemorySteps.Wait(async, instruction, true);
      case WAIT_STORES -> new TensorMemorySteps.Wait(async, instruction, false);
      case MULTIPLY -> {
        boolean shared = !slot(Name.A).isInTensorMemory();
        yield new TensorMemoryProducts.Multiply(
            async,
            instruction,
            tensorAddress(Name.D),
            shared ? null : tensorAddress(Name.A),
            shared ? required(Name.A, Type.B64) : null,
            required(Name.B, Type.B64),
            required(Name.INSTRUCTION_DESCRIPTOR, Type.B32),
            required(Name.ENABLE_INPUT_D, Type.PRED));
      }
      case COMMIT -> new TensorMemoryProducts.Commit(async, instruction, addresses(Name.MBARRIER));
      case FENCE -> new SimpleSteps.NoEffect();
    };
  }

  /** Returns the words that a load or store moves: {@code .16x64b.x4} has the words of 4 tiles. */
  private static Fragment words(Modifiers modifiers) {
    var shape = "";
    int repetitions = 0;
    for (var modifier : modifiers.list()) {
      var word = modifier.word();
      if (word.endsWith("b") && Character.isDigit(word.charAt(0))) {
        shape = word;
      } else if (word.startsWith("x")) {
        repetitions = Integer.parseInt(word.substring(1));
      }
    }
    return Fragments.tensorMemory(shape, repetitions);
  }

  private TensorAddress tensorAddress(Name name) {
    var address = (Operand.Address) Objects.requireNonNull(operand(name));
    return new TensorAddress(sources.of(address.base(), Type.B32), (int) address.offset());
  }

  private boolean isZero(Name name) {
    return operand(name) == null || literal(name) == 0;
  }

  private int scale(Name name) {
    return operand(name) == null ? 1 : (int) literal(name);
  }

  private Completion completion(Name barrier) {
    return new Completion(
        operand(barrier) == null
            ? null
            : new MbarrierFinder(async, instruction, addresses(barrier)),
        optional(Name.CTA_MASK, Type.U16));
  }

  private @Nullable ReductionOperation reduction() {
    return ReductionOperation.of(instruction.modifiers()).orElse(null);
  }

  private Reduction reduction(ReductionOperation operation, Type type) {
    return new Reduction(block, operation.asynchronous(type), type.bytes());
  }

  private static Stream<Operand> elements(Operand operand) {
    return operand instanceof Operand.Vector v ? v.elements().stream() : Stream.of(operand);
  }

  private long literal(Name name) {
    return ((Operand.Immediate) Objects.requireNonNull(operand(name))).bits();
  }

  private Lanes required(Name name, Type type) {
    return Objects.requireNonNull(optional(name, type));
  }

  private @Nullable Lanes optional(Name name, Type type) {
    var operand = operand(name);
    return operand == null || operand instanceof Operand.Sink ? null : sources.of(operand, type);
  }

  private @Nullable Operand operand(Name name) {
    int index = index(name);
    return index < 0 ? null : instruction.operands().get(index);
  }

  private int index(Name name) {
    var slots = instruction.form().operands();
    return IntStream.range(0, slots.size())
        .filter(i -> slots.get(i).name() == name)
        .findFirst()
        .orElse(-1);
  }

  private OperandSlot slot(Name name) {
    return instruction.form().operands().get(index(name));
  }

  private Addresses addresses(Name name) {
    var address = (Operand.Address) Objects.requireNonNull(operand(name));
    var space = slot(name).space(instruction.modifiers());
    boolean narrow = address.base() instanceof Operand.Register r && r.registerClass().bits() == 32;
    return new Addresses(
        block,
        instruction,
        space,
        sources.of(address.base(), narrow ? Type.U32 : Type.U64),
        address.offset());
  }
}
