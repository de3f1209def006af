package dev.athanor.cli.debug;

import static dev.athanor.cli.debug.VariableContainers.variable;

import dev.athanor.engine.debug.MemoryArray;
import dev.athanor.engine.debug.StoppedState;
import dev.athanor.engine.debug.WarpId;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import dev.athanor.engine.ptx.symbol.SourceVariable;
import dev.athanor.engine.ptx.symbol.SourceVariable.Components;
import dev.athanor.engine.ptx.symbol.SourceVariable.InMemory;
import dev.athanor.engine.ptx.symbol.SourceVariable.InRegister;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.eclipse.lsp4j.debug.Variable;

/** The Java variables of a frame and their values per lane. */
final class JavaVariables {

  /** Elements in the summary of an array. */
  private static final int SUMMARY = 8;

  private final StoppedState state;
  private final VariableContainers containers;
  private final WarpId warp;
  private final int lanes;

  /**
   * @param lanes the lanes of the frame as a mask
   */
  JavaVariables(StoppedState state, VariableContainers containers, WarpId warp, int lanes) {
    this.state = state;
    this.containers = containers;
    this.warp = warp;
    this.lanes = lanes;
  }

  /** Returns the variables of a frame, each with its values in all lanes. */
  List<Variable> all(SourceFrame frame) {
    return frame.variables().stream().map(this::sideBySide).toList();
  }

  /** Returns the lanes, each with all variables of a frame. */
  List<Variable> byLane(SourceFrame frame) {
    return IntStream.range(0, Warps.SIZE)
        .filter(lane -> ((lanes >>> lane) & 1) != 0)
        .mapToObj(lane -> {
          var shown =
              variable("lane " + lane, "thread %s".formatted(state.threadIndex(warp, lane)));
          shown.setVariablesReference(
              containers.add(() ->
                  frame.variables().stream().map(each -> typed(each, text(each, lane))).toList()));
          return shown;
        })
        .toList();
  }

  /** Returns a variable with its values in all lanes; an array with its elements. */
  Variable sideBySide(SourceVariable variable) {
    return switch (variable.location()) {
      case InRegister _ -> lanes(variable);
      case InMemory place ->
          common(variable, place).map(this::array).orElseGet(() -> lanes(variable));
      case Components parts -> {
        var shown = typed(variable, LaneText.values(lane -> text(variable, lane), lanes));
        shown.setVariablesReference(
            containers.add(() -> parts.variables().stream().map(this::sideBySide).toList()));
        yield shown;
      }
    };
  }

  private static Variable typed(SourceVariable variable, String value) {
    var shown = variable(variable.name(), value);
    shown.setType(variable.type());
    return shown;
  }

  private Variable lanes(SourceVariable variable) {
    var shown = typed(variable, LaneText.values(lane -> text(variable, lane), lanes));
    shown.setIndexedVariables(Warps.SIZE);
    shown.setVariablesReference(
        containers.add((start, count) ->
            LongStream.range(start, Math.min(start + count, Warps.SIZE))
                .mapToObj(lane -> variable("[%d]".formatted(lane), text(variable, (int) lane)))
                .toList()));
    return shown;
  }

  /** Returns the text of a variable in a lane. */
  private String text(SourceVariable variable, int lane) {
    return switch (variable.location()) {
      case InRegister(var register) ->
          state.values(warp, register).text(lane, bits -> JavaText.of(variable.type(), bits));
      case InMemory place -> {
        var pointer = state.values(warp, place.pointer());
        yield pointer.text(
            lane,
            address ->
                "%s%s"
                    .formatted(
                        sized(variable.type(), bits(place.length(), lane)),
                        state.describe(warp, address).map(" "::concat).orElse("")));
      }
      case Components parts ->
          parts.variables().stream()
              .map(each -> each.name() + "=" + text(each, lane))
              .collect(Collectors.joining(", ", variable.type() + "[", "]"));
    };
  }

  private long bits(Register register, int lane) {
    return state.values(warp, register).bits().get(lane);
  }

  private static String sized(String type, long length) {
    return type.endsWith("[]")
        ? "%s[%d]".formatted(type.substring(0, type.length() - 2), length)
        : "%s of %d bytes".formatted(type, length);
  }

  /** An array that all lanes of a frame share. */
  private record Common(SourceVariable variable, MemoryArray memory) {}

  private Optional<Common> common(SourceVariable variable, InMemory place) {
    int first = Integer.numberOfTrailingZeros(lanes);
    long address = bits(place.pointer(), first);
    long length = bits(place.length(), first);
    boolean isOne =
        laneNumbers()
            .allMatch(lane ->
                bits(place.pointer(), lane) == address && bits(place.length(), lane) == length);
    return isOne
        ? state
            .array(warp, variable.name(), place.space(), place.element(), address, length)
            .map(memory -> new Common(variable, memory))
        : Optional.empty();
  }

  private IntStream laneNumbers() {
    return IntStream.range(0, Warps.SIZE).filter(lane -> ((lanes >>> lane) & 1) != 0);
  }

  private Variable array(Common array) {
    var memory = array.memory;
    var type = array.variable.elementType();
    var elements =
        LongStream.range(0, Math.min(SUMMARY, memory.count()))
            .mapToObj(index -> JavaText.of(type, memory.bits(index)));
    var shown =
        typed(
            array.variable,
            "%s {%s}"
                .formatted(
                    sized(array.variable.type(), memory.count()),
                    Stream.concat(
                            elements, memory.count() > SUMMARY ? Stream.of("…") : Stream.empty())
                        .collect(Collectors.joining(", "))));
    shown.setIndexedVariables((int) Math.min(Integer.MAX_VALUE, memory.count()));
    shown.setMemoryReference(MemoryReference.of(memory, warp).toString());
    shown.setVariablesReference(
        containers.add((start, count) ->
            LongStream.range(start, Math.min(start + count, memory.count()))
                .mapToObj(index ->
                    variable("[%d]".formatted(index), JavaText.of(type, memory.bits(index))))
                .toList()));
    return shown;
  }
}
