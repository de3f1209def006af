package dev.athanor.cli.debug;

import static dev.athanor.cli.debug.DebugClient.failure;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.athanor.cli.argument.TensorFile;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.eclipse.lsp4j.debug.ContinueArguments;
import org.eclipse.lsp4j.debug.DisassembleArguments;
import org.eclipse.lsp4j.debug.DisconnectArguments;
import org.eclipse.lsp4j.debug.ExceptionInfoArguments;
import org.eclipse.lsp4j.debug.NextArguments;
import org.eclipse.lsp4j.debug.ReverseContinueArguments;
import org.eclipse.lsp4j.debug.Scope;
import org.eclipse.lsp4j.debug.StepBackArguments;
import org.eclipse.lsp4j.debug.SteppingGranularity;
import org.eclipse.lsp4j.debug.Variable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Tests the adapter with a client. */
class DebugAdapterTest {

  private static final String SAXPY = "../examples/saxpy.ptx";
  private static final String RACE = "../examples/race.ptx";

  /** The lines of saxpy.ptx. */
  private static final int FIRST = 13;

  private static final int LOAD_Y = 28;
  private static final int FMA = 29;
  private static final int STORE = 30;

  /** The lines of race.ptx. */
  private static final int RACE_STORE = 16;

  private static final int RACE_LOAD = 20;

  @TempDir Path folder;

  private final List<AutoCloseable> open = new ArrayList<>();
  private DebugClient client;

  @BeforeEach
  void connect() throws Exception {
    var server = new DebugServer(0);
    open.add(server);
    Thread.ofPlatform().daemon().start(server::serve);
    var socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    open.add(socket);
    client = new DebugClient(socket.getInputStream(), socket.getOutputStream());
  }

  @AfterEach
  void close() throws Exception {
    for (var each : open.reversed()) {
      each.close();
    }
  }

  private Map<String, Object> saxpy() throws Exception {
    var type = new TensorType(DType.F32, Shape.of(40));
    var x = new float[40];
    for (int i = 0; i < x.length; i++) {
      x[i] = i;
    }
    var file = folder.resolve("x.npy");
    TensorFile.write(file, new HostTensor(type, bytes(x)));
    var y = folder.resolve("y.npy");
    Arrays.fill(x, 1);
    TensorFile.write(y, new HostTensor(type, bytes(x)));
    return new HashMap<>(
        Map.of(
            "program",
            SAXPY,
            "block",
            40,
            "args",
            List.of("u32:40", "f32:2", "in:" + file, "inout:" + y)));
  }

  private static MemorySegment bytes(float[] values) {
    var segment = MemorySegment.ofArray(new byte[4 * values.length]);
    for (int i = 0; i < values.length; i++) {
      segment.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 4L * i, values[i]);
    }
    return segment;
  }

  private void next(int thread) throws Exception {
    var arguments = new NextArguments();
    arguments.setThreadId(thread);
    client.server.next(arguments).get();
  }

  private void back(int thread, @Nullable SteppingGranularity granularity) throws Exception {
    var arguments = new StepBackArguments();
    arguments.setThreadId(thread);
    arguments.setGranularity(granularity);
    client.server.stepBack(arguments).get();
  }

  private void resume() throws Exception {
    client.server.continue_(new ContinueArguments()).get();
  }

  @Test
  void debugsSaxpyForwardAndBackward() throws Exception {
    client.launch(saxpy());
    var breakpoint =
        client.breakpoint(Path.of(SAXPY).toAbsolutePath().toString(), FMA, "lane == 3");
    assertThat(breakpoint.isVerified()).isTrue();
    client.start();

    var stop = client.stopped();
    assertThat(stop.getReason()).isEqualTo("breakpoint");
    assertThat(stop.getHitBreakpointIds()).containsExactly(breakpoint.getId());
    assertThat(client.server.threads().get().getThreads())
        .extracting(org.eclipse.lsp4j.debug.Thread::getName)
        .containsExactly("saxpy block (0,0,0) warp 0", "saxpy block (0,0,0) warp 1");
    var frame = client.frames(stop.getThreadId())[0];
    assertThat(frame.getName()).isEqualTo("fma.rn.f32 %f2, %f0, %f1, %f2 · all lanes");
    assertThat(frame.getLine()).isEqualTo(FMA);
    assertThat(frame.getSource().getPath())
        .isEqualTo(Path.of(SAXPY).toAbsolutePath().normalize().toString());
    assertThat(client.scopes(frame.getId()))
        .extracting(Scope::getName)
        .containsExactly(
            "Lanes", "By lane", "Special registers", "Parameters", "Buffers", "Shared memory");

    var f2 = client.variable(frame.getId(), "Lanes", "%f2");
    assertThat(f2.getValue()).isEqualTo("1.0 in all lanes");
    var f1 = client.variable(frame.getId(), "Lanes", "%f1");
    assertThat(f1.getValue()).startsWith("0.0, 1.0, 2.0, 3.0");
    assertThat(client.variables(f1.getVariablesReference(), 7, 2))
        .extracting(Variable::getName, Variable::getValue)
        .containsExactly(tuple("[7]", "7.0"), tuple("[8]", "8.0"));
    var lane = client.variable(frame.getId(), "By lane", "lane 5");
    assertThat(lane.getValue()).isEqualTo("thread (5,0,0)");
    assertThat(client.variables(lane.getVariablesReference(), null, null))
        .anySatisfy(each -> {
          assertThat(each.getName()).isEqualTo("%rd0");
          assertThat(each.getValue()).endsWith(" (x+20)");
        });
    assertThat(client.variable(frame.getId(), "Special registers", "%ntid.x").getValue())
        .isEqualTo("40 in all lanes");
    assertThat(client.variable(frame.getId(), "Parameters", "a").getValue()).isEqualTo("2.0");
    assertThat(client.variable(frame.getId(), "Parameters", "x").getValue()).endsWith("(x)");
    var x = client.variable(frame.getId(), "Buffers", "x");
    assertThat(x.getValue()).matches("f32\\[40] at 0x1\\w+ \\{0\\.0, 1\\.0, 2\\.0, .*, …}");
    assertThat(Base64.getDecoder().decode(client.memory(x.getMemoryReference(), 4, 4)))
        .containsExactly(0, 0, 0x80, 0x3F);
    assertThat(client.evaluate("%f1[9]", frame.getId())).isEqualTo("9.0");
    assertThat(client.evaluate("f1[9]", null)).isEqualTo("9.0");
    assertThat(client.evaluate("x[12]", frame.getId())).isEqualTo("12.0");

    int thread = stop.getThreadId();
    next(thread);
    assertThat(client.stopped().getReason()).isEqualTo("step");
    var after = client.frames(thread)[0];
    assertThat(after.getLine()).isEqualTo(STORE);
    assertThat(client.evaluate("%f2[3]", after.getId())).isEqualTo("7.0");
    back(thread, SteppingGranularity.STATEMENT);
    client.stopped();
    assertThat(client.frames(thread)[0].getLine()).isEqualTo(FMA);
    assertThat(client.evaluate("%f2[3]", null)).isEqualTo("1.0");
    back(thread, SteppingGranularity.INSTRUCTION);
    client.stopped();
    assertThat(client.frames(thread)[0].getLine()).isEqualTo(LOAD_Y);
    assertThat(client.evaluate("%f2", null)).isEqualTo("not written in all lanes");
    client.server.reverseContinue(reverse(thread)).get();
    assertThat(client.stopped().getReason()).isEqualTo("entry");
    assertThat(client.frames(thread)[0].getLine()).isEqualTo(FIRST);
    resume();
    assertThat(client.stopped().getReason()).isEqualTo("breakpoint");
    resume();
    // lane 3 of warp 1
    client.terminated();
    assertThat(
            TensorFile.read(folder.resolve("y.npy"))
                .data()
                .get(ValueLayout.JAVA_FLOAT_UNALIGNED, 12))
        .isEqualTo(7f);
  }

  private static ReverseContinueArguments reverse(int thread) {
    var arguments = new ReverseContinueArguments();
    arguments.setThreadId(thread);
    return arguments;
  }

  @Test
  void showsBothSidesOfARace() throws Exception {
    client.launch(
        Map.of("program", RACE, "block", 64, "args", List.of("zeros:256"), "sanitize", true));
    client.start();
    var race = client.stopped();
    assertThat(race.getReason()).isEqualTo("exception");
    assertThat(race.getDescription()).isEqualTo("RACE_IN_BLOCK");
    assertThat(race.getText()).contains("nothing orders the two");
    var frames = client.frames(race.getThreadId());
    assertThat(frames[0].getLine()).isEqualTo(RACE_LOAD);
    assertThat(frames[1].getName())
        .startsWith("other access: st.shared.u32 [%r2], %r0 · block (0,0,0)");
    assertThat(frames[1].getLine()).isEqualTo(RACE_STORE);
    assertThat(client.scopes(frames[1].getId())).isEmpty();
    var exception = new ExceptionInfoArguments();
    exception.setThreadId(race.getThreadId());
    var info = client.server.exceptionInfo(exception).get();
    assertThat(info.getExceptionId()).isEqualTo("RACE_IN_BLOCK");
    var tile = client.variable(frames[0].getId(), "Shared memory", "tile");
    assertThat(tile.getValue()).isEqualTo("u32[64] at 0x0 {0, 1, 2, 3, 4, 5, 6, 7, …}");
    assertThat(Base64.getDecoder().decode(client.memory(tile.getMemoryReference(), 8, 4)))
        .containsExactly(2, 0, 0, 0);

    client.custom(DebugAdapter.OTHER_ACCESS);
    var other = client.stopped();
    assertThat(other.getReason()).isEqualTo("goto");
    assertThat(client.frames(other.getThreadId())[0].getLine()).isEqualTo(RACE_STORE);
    assertThat(client.evaluate(":finding", null)).isEqualTo("Going to the finding …");
    assertThat(client.frames(client.stopped().getThreadId())[0].getLine()).isEqualTo(RACE_LOAD);
    assertThat(client.evaluate(":other", null)).isEqualTo("Going to the other access …");
    assertThat(client.frames(client.stopped().getThreadId())[0].getLine()).isEqualTo(RACE_STORE);
    resume();
    assertThat(client.stopped().getDescription()).isEqualTo("RACE_IN_BLOCK");
    resume();
    client.terminated();
    assertThat(client.printed()).contains("report: RACE_IN_BLOCK: thread (");
  }

  @Test
  void debugsTheLinesOfAnOp() throws Exception {
    client.launch(
        Map.of(
            "op",
            "rms-norm",
            "shape",
            Map.of("x", "4,64", "weight", "64"),
            "stopOnEntry",
            true,
            "sourcePath",
            "../ops/src/main/java"));
    client.start();
    var entry = client.stopped();
    assertThat(entry.getReason()).isEqualTo("entry");
    var frame = client.frames(entry.getThreadId())[0];
    var path = frame.getSource().getPath();
    assertThat(path).endsWith(".java").startsWith("/");
    assertThat(Files.readAllLines(Path.of(path))).hasSizeGreaterThan(frame.getLine());
    assertThat(client.variable(frame.getId(), "Buffers", "x").getValue())
        .startsWith("f32[256] at ");
    int thread = entry.getThreadId();
    next(thread);
    client.stopped();
    var line = client.frames(thread)[0];
    assertThat(line.getLine()).isNotEqualTo(frame.getLine());
    var breakpoint = client.breakpoint(line.getSource().getPath(), line.getLine(), null);
    assertThat(breakpoint.isVerified()).isTrue();
    back(thread, null);
    client.stopped();
    assertThat(client.frames(thread)[0].getLine()).isEqualTo(frame.getLine());
    resume();
    assertThat(client.stopped().getHitBreakpointIds()).containsExactly(breakpoint.getId());
    var listing = new DisassembleArguments();
    listing.setMemoryReference(client.frames(thread)[0].getInstructionPointerReference());
    listing.setInstructionOffset(-100);
    listing.setInstructionCount(102);
    var instructions = client.server.disassemble(listing).get().getInstructions();
    assertThat(instructions).hasSize(102);
    assertThat(instructions[0].getPresentationHint()).isNotNull();
    assertThat(client.frames(thread)[0].getName() + ";")
        .startsWith(instructions[100].getInstruction().replace(";", ""));
    client.server.disconnect(new DisconnectArguments()).get();
  }

  @ParameterizedTest
  @ValueSource(strings = {"saxpy.ptx", "rms-norm"})
  void configurationsOfTheDocumentationStart(String name) throws Exception {
    var text = Files.readString(Path.of("../docs/debugging.md"));
    var file = text.substring(text.indexOf("{\n  \"version\": \"0.2.0\""));
    var json = file.substring(0, file.indexOf("```")).replace("${workspaceFolder}", "..");
    for (var configuration : new JsonMapper().readTree(json).get("configurations")) {
      if (configuration.get("name").asString().equals(name)) {
        client.launch(
            new JsonMapper()
                .convertValue(configuration, new TypeReference<Map<String, Object>>() {}));
        client.start();
        assertThat(client.stopped().getReason()).isEqualTo("entry");
        assertThat(client.printed()).doesNotContain("is not used");
        return;
      }
    }
    throw new AssertionError(name);
  }

  @Test
  void reportsWhyABreakpointIsInvalid() throws Exception {
    client.launch(saxpy());
    var path = Path.of(SAXPY).toAbsolutePath().toString();
    assertThat(client.breakpoint(path, 1, null).getLine()).isEqualTo(FIRST);
    assertThat(client.breakpoint(path, 90, null).getMessage())
        .isEqualTo("no instruction of the kernel is from this line or a later one");
    assertThat(client.breakpoint("/other.ptx", 3, null).getMessage())
        .isEqualTo("no instruction of the kernel is from this file");
    assertThat(client.breakpoint(path, FMA, "lane is 3").getMessage())
        .isEqualTo(
            "\"lane is 3\" is not a condition: column 6: expected an operator or the end, found \"is 3\"");
    assertThat(client.breakpoint(path, FMA, "%r99 == 3").getMessage())
        .isEqualTo("the kernel has no register %r99");
    assertThat(client.breakpoint(path, FMA, "%f2 && lane == 1").getMessage())
        .isEqualTo("column 5: the operands of && are float and boolean; expected booleans");
  }

  @ParameterizedTest
  @ValueSource(strings = {"watch", "hover", "repl"})
  void evaluatesExpressionsOfRegistersAndBuffers(String context) throws Exception {
    client.launch(saxpy());
    client.breakpoint(
        Path.of(SAXPY).toAbsolutePath().toString(),
        FMA,
        "%r4 / 2 == 17 && x[%r4] > x[3] * 11 && (%tid.x & 1) == 1");
    client.start();
    int thread = client.stopped().getThreadId();
    int id = client.frames(thread)[0].getId();
    // the condition holds in thread 35 of the block; its warp has 8 lanes
    assertThat(client.frames(thread)[0].getName()).endsWith("lanes 0–7");
    assertThat(client.evaluate("%r4 % 4 + %tid.x", id, context).getResult())
        .isEqualTo("32, 34, 36, 38, 36, 38, 40, 42");
    var product = client.evaluate("%f0 * f1[2] + 1.5f", id, context);
    assertThat(product.getResult()).isEqualTo("69.5 in lanes 0–7");
    assertThat(product.getType()).isEqualTo("float");
    assertThat(client.evaluate("x[12] / 5.0", id, context).getResult()).isEqualTo("2.4");
    assertThat(client.evaluate("%outside ? -1 : n % 3 == 1 ? 7 : 8", id, context).getResult())
        .isEqualTo("7 in lanes 0–7");
    assertThat(client.evaluate("x.length << 1", id, context).getResult())
        .isEqualTo("80 in lanes 0–7");
    assertThat(client.evaluate("lane", id, context).getResult())
        .isEqualTo("0, 1, 2, 3, 4, 5, 6, 7");
    assertThat(client.evaluate("x[%r4 + 5]", id, context).getResult())
        .isEqualTo(
            "37.0, 38.0, 39.0, no value, no value, no value, no value, no value; x[40] is out of bounds; an index is a number from 0 to 39");
    assertThat(failure(() -> client.evaluate("1 + %f1[20]", id, context)))
        .isEqualTo("%f1 has no value: lane 20 has exited");
    assertThat(failure(() -> client.evaluate("%r4 / (n - 40)", id, context)))
        .isEqualTo("division by zero");
    assertThat(failure(() -> client.evaluate("%tid.y + 1", id, context)))
        .isEqualTo("the kernel does not read %tid.y");
    assertThat(failure(() -> client.evaluate("(x[1]", id, context)))
        .isEqualTo("column 6: expected \")\", found the end");
  }

  @Test
  void reportsWhyRequestsFail() throws Exception {
    assertThat(failure(() -> client.frames(1))).isEqualTo("a launch request must come first");
    assertThat(failure(() -> client.start())).isEqualTo("a launch request must come first");
    assertThat(failure(() -> client.server.attach(Map.of()).get()))
        .startsWith("attach is not supported; set `request` to launch");
    var arguments = saxpy();
    arguments.put("stopOnEntry", true);
    arguments.put("stopOnEntri", true);
    client.launch(arguments);
    assertThat(client.printed())
        .isEqualTo("`stopOnEntri` is not used; did you mean stopOnEntry?\n");
    assertThat(failure(() -> client.server.launch(Map.of()).get()))
        .isEqualTo("this session has been launched already");
    assertThat(failure(() -> client.frames(1)))
        .isEqualTo("the launches are not stopped; pause them first");
    client.start();
    client.stopped();
    assertThat(failure(() -> client.frames(99))).isEqualTo("unknown thread 99");
    assertThat(failure(() -> client.scopes(99))).isEqualTo("this stop has no frame 99");
    assertThat(failure(() -> client.variables(99, null, null)))
        .isEqualTo("this stop has no variables 99");
    assertThat(failure(() -> client.evaluate("foo", null)))
        .isEqualTo(
            "\"foo\" is not a variable, register, parameter, buffer or shared array of saxpy");
    assertThat(failure(() -> client.evaluate("x[99]", null)))
        .isEqualTo("x[99] is out of bounds; an index is a number from 0 to 39");
    assertThat(failure(() -> client.memory("here", 0, 4)))
        .startsWith("\"here\" is not a memory reference; write 0x1000000000 for global memory");
    assertThat(client.memory("0x10", 0, 4)).isEmpty();
    client.evaluate(":other", null);
    client.evaluate("x", null); // answered after the command has failed
    assertThat(client.printed()).contains("the launches have not stopped at a finding yet");
    assertThat(client.evaluate("x[2]", null)).isEqualTo("2.0");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          {} | `op`, `program` or `class` is missing; give the name of an op, the path of a PTX file or the name of a Java class
          {op=softmax, program=x.ptx} | `op` and `program` are given; a session debugs one of them
          {op=softmaxx} | unknown op "softmaxx"; did you mean softmax?
          {op=softmax, plugins=/no/such} | `plugins`: no such folder: /no/such
          {op=softmax, grid=2} | `grid` is not an argument of an op; it is one of `program`
          {op=softmax, shape=64} | `shape` is 64; expected an object such as {"x": "4,64"}, or strings such as "x=4,64"
          {op=softmax, shape=x=a} | `shape` x=a: expected comma-separated integers, such as 4096,4096
          {op=softmax, shape=x=4 64, target=ada} | `target` ada: "ada" is not a target; write sm_80 or sm_90a
          {op=softmax, shape=x=4, kernel=fast} | `kernel` fast: expected one of
          {program=no.ptx, block=32} | cannot read file no.ptx
          {program=../examples/saxpy.ptx} | `block` is missing
          {program=../examples/saxpy.ptx, block=0} | `block` 0: expected one to three numbers, such as 16,16
          {program=../examples/saxpy.ptx, block=32, shape=x=4} | `shape` is not an argument of a PTX file; it is one of `op`
          {program=../examples/saxpy.ptx, block=32, kernel=axpy} | `kernel` axpy: the file has saxpy
          {program=../examples/saxpy.ptx, block=32, seed=one} | `seed` one: expected a whole number
          {program=../examples/saxpy.ptx, block=32, schedule=fifo} | `schedule` fifo: expected one of converging, ahead-first, one-by-one, random, apart
          {program=../examples/saxpy.ptx, block=32, sanitize=yes} | `sanitize` is yes; expected true or false
          {program=../examples/saxpy.ptx, block=32, sourcePath=/no/folder} | `sourcePath` is /no/folder; expected existing folders
          {program=../examples/saxpy.ptx, block=32, args=u33:1} | `args` u33:1: expected TYPE:VALUE
          {program=../examples/saxpy.ptx, block=32, args=u32:1} | cannot launch saxpy: got 1 arguments; the kernel takes 4
          """)
  void reportsInvalidLaunchesInOneSentence(String request, String sentence) throws Exception {
    var arguments = new HashMap<String, Object>();
    for (var part : request.substring(1, request.length() - 1).split(", ", -1)) {
      if (!part.isEmpty()) {
        var pair = part.split("=", 2);
        arguments.put(pair[0], pair[1].replace(' ', ','));
      }
    }
    assertThat(failure(() -> client.launch(arguments))).startsWith(sentence);
  }
}
