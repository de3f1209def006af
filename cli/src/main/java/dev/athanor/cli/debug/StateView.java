package dev.athanor.cli.debug;

import static dev.athanor.cli.debug.VariableContainers.variable;

import dev.athanor.engine.debug.Elements;
import dev.athanor.engine.debug.MemoryArray;
import dev.athanor.engine.debug.StoppedState;
import dev.athanor.engine.debug.StoppedState.Fragment;
import dev.athanor.engine.debug.StoppedState.LaneValues;
import dev.athanor.engine.debug.WarpId;
import dev.athanor.engine.debug.expression.Bound;
import dev.athanor.engine.debug.expression.EvaluationException;
import dev.athanor.engine.debug.expression.Expression;
import dev.athanor.engine.debug.expression.Expression.Element;
import dev.athanor.engine.debug.expression.Expression.Literal;
import dev.athanor.engine.debug.expression.Expression.Name;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.eclipse.lsp4j.debug.EvaluateResponse;
import org.eclipse.lsp4j.debug.Scope;
import org.eclipse.lsp4j.debug.StackFrame;
import org.eclipse.lsp4j.debug.Variable;
import org.jspecify.annotations.Nullable;

/**
 * A stop as seen by the debugger's client. A frame is a fragment of a warp: the lanes at one
 * instruction. The ids of frames and variables are valid until the next command.
 */
final class StateView {

  /** Elements in the summary of an array. */
  private static final int SUMMARY = 8;

  /**
   * A frame.
   *
   * @param fragment null for the other access of a finding
   * @param source null if the kernel has no source-level frames
   */
  private record Frame(WarpId warp, @Nullable Fragment fragment, @Nullable SourceFrame source) {}

  private final StoppedState state;
  private final SourceFiles files;
  private final List<Frame> frames = new ArrayList<>();
  private final VariableContainers containers = new VariableContainers();

  StateView(StoppedState state, SourceFiles files) {
    this.state = state;
    this.files = files;
  }

  StoppedState state() {
    return state;
  }

  /** Returns the name of a warp. */
  String name(WarpId warp) {
    return "%s block %s warp %d"
        .formatted(state.kernel(warp).name(), state.blockIndex(warp), warp.warp());
  }

  /** Returns the fragments of a warp, and the other access of the finding. */
  StackFrame[] frames(WarpId warp) {
    var all = new ArrayList<StackFrame>();
    for (var fragment : state.fragments(warp)) {
      var lanes = LaneText.lanes(fragment.lanes()) + (fragment.waits() ? " · waiting" : "");
      var call = fragment.frame().orElse(null);
      if (call == null) {
        var place = new Frame(warp, fragment, null);
        var instruction = fragment.instruction();
        all.add(frame(place, "%s · %s".formatted(text(instruction), lanes), instruction.source()));
      }
      for (; call != null; call = call.caller()) {
        var place = new Frame(warp, fragment, call);
        all.add(frame(place, "%s · %s".formatted(call.method(), lanes), call.source()));
      }
    }
    var finding = state.stop().finding();
    if (finding != null && finding.other() != null && warp.equals(state.stop().warp())) {
      all.add(
          frame(new Frame(warp, null, null), otherName(finding.other()), finding.other().source()));
    }
    return all.toArray(StackFrame[]::new);
  }

  private static String text(Instruction instruction) {
    var text = instruction.toString();
    return text.substring(0, text.length() - 1);
  }

  private static String otherName(Report.Place other) {
    return "other access: %s · block %s warp %d lane %d"
        .formatted(other.instruction(), other.block(), other.warp(), other.lane());
  }

  private StackFrame frame(Frame frame, String name, Source source) {
    frames.add(frame);
    var shown = new StackFrame();
    shown.setId(frames.size());
    shown.setName(name);
    if (source.line() > 0) {
      shown.setSource(files.source(source.file()));
    }
    shown.setLine(source.line());
    shown.setColumn(source.column());
    if (frame.fragment != null) {
      shown.setInstructionPointerReference(Disassembly.address(frame.fragment.number()));
    }
    return shown;
  }

  /** Returns the warp of a frame; for null, the warp of the stop. */
  WarpId warp(@Nullable Integer frame) {
    return frame == null ? state.stop().warp() : find(frame).warp;
  }

  private Frame find(int id) {
    if (id < 1 || id > frames.size()) {
      throw new IllegalArgumentException("this stop has no frame %d".formatted(id));
    }
    return frames.get(id - 1);
  }

  /** Returns the scopes of a frame. */
  Scope[] scopes(int id) {
    var frame = find(id);
    var fragment = frame.fragment;
    if (fragment == null) {
      return new Scope[0];
    }
    var warp = frame.warp;
    int lanes = fragment.lanes();
    var scopes = new ArrayList<Scope>();
    if (frame.source != null) {
      var variables = new JavaVariables(state, containers, warp, lanes);
      var source = frame.source;
      add(scopes, "Variables", () -> variables.all(source));
      add(scopes, "Variables by lane", () -> variables.byLane(source));
    }
    add(scopes, "Lanes", () -> registers(state.registers(warp), lanes, warp));
    add(scopes, "By lane", () -> byLane(warp, lanes));
    add(scopes, "Special registers", () -> registers(state.specialRegisters(warp), lanes, warp));
    add(scopes, "Parameters", () -> arrays(state.parameters(warp), warp));
    add(scopes, "Buffers", () -> arrays(state.buffers(warp), warp));
    add(scopes, "Shared memory", () -> arrays(state.shared(warp), warp));
    return scopes.toArray(Scope[]::new);
  }

  private void add(List<Scope> scopes, String name, Supplier<List<Variable>> children) {
    var scope = new Scope();
    scope.setName(name);
    scope.setVariablesReference(containers.add(children));
    scope.setExpensive(false);
    scopes.add(scope);
  }

  /** Returns the variables of a scope or of a variable. */
  Variable[] variables(int reference, @Nullable Integer start, @Nullable Integer count) {
    return containers.get(reference, start, count);
  }

  private List<Variable> registers(List<LaneValues> registers, int lanes, WarpId warp) {
    return registers.stream().map(each -> register(each, lanes, warp)).toList();
  }

  private Variable register(LaneValues register, int lanes, WarpId warp) {
    var variable = variable(register.name(), LaneText.values(register::text, lanes));
    variable.setType(register.type().word());
    variable.setEvaluateName(register.name());
    variable.setIndexedVariables(register.bits().size());
    variable.setVariablesReference(
        containers.add((start, count) ->
            LongStream.range(start, Math.min(start + count, register.bits().size()))
                .mapToObj(
                    lane -> variable("[%d]".formatted(lane), text(register, (int) lane, warp)))
                .toList()));
    return variable;
  }

  /** Returns the text of a value; a pointer also as an offset in a buffer. */
  private String text(LaneValues register, int lane, WarpId warp) {
    var text = register.text(lane);
    return register.type() == RegisterClass.B64
        ? text + state.describe(warp, register.bits().get(lane)).map(" (%s)"::formatted).orElse("")
        : text;
  }

  private List<Variable> byLane(WarpId warp, int lanes) {
    return IntStream.range(0, Integer.SIZE)
        .filter(lane -> ((lanes >>> lane) & 1) != 0)
        .mapToObj(lane -> {
          var variable =
              variable("lane " + lane, "thread %s".formatted(state.threadIndex(warp, lane)));
          variable.setVariablesReference(
              containers.add(() ->
                  state.registers(warp).stream()
                      .map(each -> variable(each.name(), text(each, lane, warp)))
                      .toList()));
          return variable;
        })
        .toList();
  }

  private List<Variable> arrays(List<MemoryArray> arrays, WarpId warp) {
    return arrays.stream().map(each -> array(each, warp)).toList();
  }

  private Variable array(MemoryArray array, WarpId warp) {
    var type = array.element().word();
    if (array.space() == Space.PARAM && array.count() == 1) {
      var scalar = variable(array.name(), parameter(array, warp));
      scalar.setType(type);
      return scalar;
    }
    var first =
        LongStream.range(0, Math.min(SUMMARY, array.count())).mapToObj(array::text).toList();
    var variable =
        variable(
            array.name(),
            "%s[%d] at 0x%x {%s%s}"
                .formatted(
                    type,
                    array.count(),
                    array.address(),
                    String.join(", ", first),
                    array.count() > SUMMARY ? ", …" : ""));
    variable.setType(type + "[]");
    variable.setEvaluateName(array.name());
    variable.setIndexedVariables((int) Math.min(Integer.MAX_VALUE, array.count()));
    if (array.space() != Space.PARAM) {
      variable.setMemoryReference(MemoryReference.of(array, warp).toString());
    }
    variable.setVariablesReference(
        containers.add((start, count) ->
            LongStream.range(start, Math.min(start + count, array.count()))
                .mapToObj(index -> variable("[%d]".formatted(index), array.text(index)))
                .toList()));
    return variable;
  }

  private String parameter(MemoryArray parameter, WarpId warp) {
    if (parameter.element().bytes() != Long.BYTES) {
      return parameter.text(0);
    }
    long bits = Elements.bits(parameter.bytes(), 0, parameter.element());
    return state
        .describe(warp, bits)
        .map(name -> "0x%x (%s)".formatted(bits, name))
        .orElseGet(() -> parameter.text(0));
  }

  /**
   * Evaluates an expression in the lanes of a frame. A name alone also has children.
   *
   * @throws IllegalArgumentException if the text is not an expression, a name is unknown, or the
   *     expression has no value in any lane
   */
  EvaluateResponse evaluate(String text, @Nullable Integer id) {
    var warp = warp(id);
    var place = id == null ? null : find(id);
    var fragment =
        place == null || place.fragment == null ? state.fragments(warp).getFirst() : place.fragment;
    var source = place == null ? fragment.frame() : Optional.ofNullable(place.source);
    int lanes = fragment.lanes();
    var expression = Expression.parse(text);
    var found =
        switch (expression) {
          case Name(var name) -> find(name, source, warp, lanes);
          case Element(Name(var name), Literal(Integer index))
              when source.flatMap(each -> each.find(name)).isEmpty() ->
              element(name, index, warp).map(value -> variable(text, value));
          default -> Optional.<Variable>empty();
        };
    var shown =
        found.orElseGet(
            () -> computed(text, expression.bind(state.scope(warp, source)), warp, lanes));
    var response = new EvaluateResponse();
    response.setResult(shown.getValue());
    response.setType(shown.getType());
    response.setVariablesReference(shown.getVariablesReference());
    response.setIndexedVariables(shown.getIndexedVariables());
    response.setMemoryReference(shown.getMemoryReference());
    return response;
  }

  /** Returns the values of an expression; why it has none, in the lanes where it has none. */
  private static Variable computed(String text, Bound bound, WarpId warp, int lanes) {
    var failures = new LinkedHashSet<String>();
    var texts = new HashMap<Integer, String>();
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      try {
        texts.put(lane, JavaText.of(bound.value(Warps.thread(warp.warp(), lane))));
      } catch (EvaluationException e) {
        failures.add(String.valueOf(e.getMessage()));
      }
    }
    if (texts.isEmpty()) {
      throw new IllegalArgumentException(failures.getFirst());
    }
    boolean isOne = bound.uniform() && Set.copyOf(texts.values()).size() == 1;
    var shown =
        variable(
            text,
            isOne
                ? List.copyOf(texts.values()).getFirst()
                : LaneText.values(lane -> texts.getOrDefault(lane, "no value"), lanes)
                    + failures.stream().limit(1).map("; "::concat).collect(Collectors.joining()));
    shown.setType(bound.type().word());
    return shown;
  }

  /** Returns the variable, register or memory with a name. */
  private Optional<Variable> find(
      String name, Optional<SourceFrame> source, WarpId warp, int lanes) {
    return source
        .flatMap(each -> each.find(name))
        .map(new JavaVariables(state, containers, warp, lanes)::sideBySide)
        .or(() -> register(name, warp).map(each -> register(each, lanes, warp)))
        .or(() -> memory(name, warp).map(each -> array(each, warp)));
  }

  /** Returns the text of an element of a register or memory, in the format of its type. */
  private Optional<String> element(String name, int index, WarpId warp) {
    var register = register(name, warp);
    return register.isPresent()
        ? register
            .filter(each -> index >= 0 && index < each.bits().size())
            .map(each -> text(each, index, warp))
        : memory(name, warp)
            .filter(each -> index >= 0 && index < each.count())
            .map(each -> each.text(index));
  }

  private Optional<MemoryArray> memory(String name, WarpId warp) {
    return Stream.of(state.buffers(warp), state.shared(warp), state.parameters(warp))
        .flatMap(List::stream)
        .filter(each -> each.name().equals(name))
        .findFirst();
  }

  private Optional<LaneValues> register(String name, WarpId warp) {
    return state.register(warp, name).or(() -> state.register(warp, "%" + name));
  }
}
