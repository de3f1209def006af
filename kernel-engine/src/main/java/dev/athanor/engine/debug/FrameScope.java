package dev.athanor.engine.debug;

import dev.athanor.engine.debug.expression.EvaluationException;
import dev.athanor.engine.debug.expression.JavaType;
import dev.athanor.engine.debug.expression.Scope;
import dev.athanor.engine.device.Report.Index;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.watch.BlockState;
import dev.athanor.engine.emulator.watch.Observer.Observed;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import dev.athanor.engine.ptx.symbol.SourceVariable;
import dev.athanor.engine.ptx.symbol.SourceVariable.Components;
import dev.athanor.engine.ptx.symbol.SourceVariable.InMemory;
import dev.athanor.engine.ptx.symbol.SourceVariable.InRegister;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The names that expressions can use in a frame: variables of the source, the indices of a thread,
 * registers with or without {@code %}, buffers, shared and local arrays, and parameters. Earlier
 * ones hide later ones.
 */
final class FrameScope implements Scope {

  /** A block that runs. */
  interface RunningBlock {
    Observed observed();

    BlockState state();

    BlockMemory memory();

    /** Returns the number of the block in its grid. */
    long block();
  }

  private static final String LENGTH = ".length";

  /** The indices of a thread, as numbers. */
  static final Map<String, Function<Location, Number>> INDICES =
      Map.of(
          "lane", at -> Warps.laneOf(at.thread),
          "warp", at -> Warps.warpOf(at.thread),
          "thread", Location::thread,
          "thread.x", at -> at.inBlock().x(),
          "thread.y", at -> at.inBlock().y(),
          "thread.z", at -> at.inBlock().z(),
          "block", at -> at.block.block(),
          "block.x", at -> at.inGrid().x(),
          "block.y", at -> at.inGrid().y(),
          "block.z", at -> at.inGrid().z());

  /** A thread of a block. */
  record Location(RunningBlock block, int thread) {
    private Index inBlock() {
      var shape = block.observed().block();
      return index(thread, shape.x(), shape.y());
    }

    private Index inGrid() {
      var grid = block.observed().grid();
      return index(block.block(), grid.x(), grid.y());
    }
  }

  private final Map<String, Register> registers;
  private final Optional<SourceFrame> frame;
  private final @Nullable RunningBlock block;

  /**
   * @param registers the registers of the kernel by name
   * @param block null before the launch: expressions have types, but no values
   */
  FrameScope(
      Map<String, Register> registers, Optional<SourceFrame> frame, @Nullable RunningBlock block) {
    this.registers = registers;
    this.frame = frame;
    this.block = block;
  }

  private RunningBlock block() {
    if (block == null) {
      throw new IllegalStateException("the launch has not begun");
    }
    return block;
  }

  @Override
  public Named find(String name) {
    var variable = frame.flatMap(each -> each.find(name));
    if (variable.isPresent()) {
      return variable(name, variable.get());
    }
    var index = INDICES.get(name);
    if (index != null) {
      var type = name.equals("block") ? JavaType.LONG : JavaType.INT;
      return new Scalar(type, thread -> index.apply(new Location(block(), thread)));
    }
    return Stream.of(name, "%" + name)
        .flatMap(each -> register(each).stream())
        .findFirst()
        .or(() -> block == null ? Optional.empty() : memory(name, block))
        .orElseThrow(() ->
            new IllegalArgumentException(
                "\"%s\" is not a variable, register, parameter, buffer or shared array of %s"
                    .formatted(
                        name, block == null ? "the kernel" : block.observed().kernel().name())));
  }

  private Optional<Named> register(String name) {
    var register = registers.get(name);
    if (register != null) {
      return Optional.of(scalar(name, typeOf(register.registerClass()), register));
    }
    return Stream.of(SpecialRegister.values())
        .filter(each -> each.toString().equals(name))
        .findFirst()
        .map(each ->
            new Scalar(typeOf(each.type().registerClass()), thread -> special(each, thread)));
  }

  private static JavaType typeOf(RegisterClass type) {
    return switch (type) {
      case PRED -> JavaType.BOOLEAN;
      case B16 -> JavaType.SHORT;
      case B32 -> JavaType.INT;
      case B64 -> JavaType.LONG;
      case F32 -> JavaType.FLOAT;
      case F64 -> JavaType.DOUBLE;
    };
  }

  private Object special(SpecialRegister register, int thread) {
    var lanes = block().state().registers().special().get(register);
    if (lanes == null) {
      throw new EvaluationException("the kernel does not read %s".formatted(register));
    }
    checkLive(register.toString(), thread);
    return Elements.value(typeOf(register.type().registerClass()), lanes.bits(thread));
  }

  private Scalar scalar(String name, JavaType type, Register register) {
    return new Scalar(type, thread -> Elements.value(type, bits(name, register, thread)));
  }

  private long bits(String name, Register register, int thread) {
    checkLive(name, thread);
    Lanes lanes = block().state().registers().of(register);
    long bits = lanes.bits(thread);
    if (Elements.isUnwritten(register.registerClass(), bits)) {
      throw new EvaluationException(
          "%s is not written in lane %d".formatted(name, Warps.laneOf(thread)));
    }
    return bits;
  }

  private void checkLive(String name, int thread) {
    int lane = Warps.laneOf(thread);
    if (block().state().positions(Warps.warpOf(thread)).stream()
        .noneMatch(position -> ((position.lanes() >>> lane) & 1) != 0)) {
      throw new EvaluationException("%s has no value: lane %d has exited".formatted(name, lane));
    }
  }

  private Named variable(String name, SourceVariable variable) {
    return switch (variable.location()) {
      case InRegister(var register) ->
          scalar(
              name,
              JavaType.of(variable.type()).orElseThrow(() -> notPrimitive(name, variable)),
              register);
      case InMemory place -> array(name, variable, place);
      case Components _ -> throw notPrimitive(name, variable);
    };
  }

  private static IllegalArgumentException notPrimitive(String name, SourceVariable variable) {
    return new IllegalArgumentException(
        "%s is a %s; expressions take numbers and booleans, such as its components or its length"
            .formatted(name, variable.type()));
  }

  private Array array(String name, SourceVariable variable, InMemory place) {
    var named = JavaType.of(variable.elementType());
    var element = named.orElseGet(() -> elementType(name, place.element()));
    ToLongFunction<Integer> length = thread -> bits(name, place.length(), thread);
    return new Array(
        element,
        length::applyAsLong,
        (thread, index) -> {
          long address = bits(name, place.pointer(), thread);
          var array =
              block()
                  .memory()
                  .array(
                      name,
                      place.space(),
                      place.element(),
                      address,
                      length.applyAsLong(thread),
                      thread)
                  .orElseThrow(
                      () -> new EvaluationException("%s is outside of its memory".formatted(name)));
          return named.isPresent()
              ? Elements.value(element, array.bits(index))
              : Elements.value(place.element(), array.bits(index));
        });
  }

  private static JavaType elementType(String name, Type type) {
    return Elements.javaType(type)
        .orElseThrow(() ->
            new IllegalArgumentException(
                "the elements of %s are of type %s, which expressions do not take"
                    .formatted(name, type.word())));
  }

  /** Returns an array of the kernel's memory, or its length. */
  private Optional<Named> memory(String name, RunningBlock running) {
    var memory = running.memory();
    return Stream.of(memory.buffers(), memory.shared(), memory.locals(0), memory.parameters())
        .flatMap(List::stream)
        .flatMap(array -> {
          if (array.name().equals(name)) {
            return Stream.of(memory(array, running));
          }
          return name.equals(array.name() + LENGTH)
              ? Stream.of(new Scalar(JavaType.LONG, _ -> array.count()))
              : Stream.empty();
        })
        .findFirst();
  }

  private static Named memory(MemoryArray array, RunningBlock running) {
    var type = elementType(array.name(), array.element());
    if (array.space() == Space.PARAM && array.count() == 1) {
      return new Scalar(type, _ -> Elements.value(array.element(), array.bits(0)));
    }
    return new Array(
        type,
        _ -> array.count(),
        (thread, index) -> {
          var own =
              array.space() == Space.LOCAL
                  ? running
                      .memory()
                      .array(
                          array.name(),
                          Space.LOCAL,
                          array.element(),
                          array.address(),
                          array.count(),
                          thread)
                      .orElseThrow()
                  : array;
          return Elements.value(array.element(), own.bits(index));
        });
  }

  /** Returns the index of a block in its grid, or of a thread in its block. */
  static Index index(long number, int x, int y) {
    return new Index((int) (number % x), (int) (number / x % y), (int) (number / x / y));
  }
}
