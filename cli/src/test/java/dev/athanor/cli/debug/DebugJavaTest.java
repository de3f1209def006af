package dev.athanor.cli.debug;

import static dev.athanor.cli.debug.DebugClient.failure;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.athanor.cli.argument.TensorFile;
import dev.athanor.engine.lift.GpuKernel;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.tools.ToolProvider;
import org.eclipse.lsp4j.debug.ContinueArguments;
import org.eclipse.lsp4j.debug.NextArguments;
import org.eclipse.lsp4j.debug.Scope;
import org.eclipse.lsp4j.debug.StackFrame;
import org.eclipse.lsp4j.debug.StepBackArguments;
import org.eclipse.lsp4j.debug.StepInArguments;
import org.eclipse.lsp4j.debug.StepOutArguments;
import org.eclipse.lsp4j.debug.Variable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Sessions with kernels in Java, which each test compiles. */
@Timeout(120)
class DebugJavaTest {

  private static final int LENGTH = 20;

  @TempDir Path folder;

  private final List<AutoCloseable> open = new ArrayList<>();
  private DebugClient client;
  private Path source;

  @BeforeEach
  void connect() throws Exception {
    var server = new DebugServer(0);
    open.add(server);
    Thread.ofPlatform().daemon().start(server::serve);
    var socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    open.add(socket);
    client = new DebugClient(socket.getInputStream(), socket.getOutputStream());
    source = folder.resolve("Waves.java");
    try (var text = DebugJavaTest.class.getResourceAsStream("/kernels/Waves.java.txt")) {
      Files.write(source, Objects.requireNonNull(text).readAllBytes());
    }
  }

  @AfterEach
  void close() throws Exception {
    for (var each : open.reversed()) {
      each.close();
    }
  }

  private void compile(String debugInformation, Path file) throws Exception {
    var compiler = ToolProvider.getSystemJavaCompiler();
    var path = Path.of(GpuKernel.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    int status =
        compiler.run(
            null,
            null,
            null,
            debugInformation,
            "-proc:none",
            "-cp",
            path.toString(),
            "-d",
            folder.resolve("classes").toString(),
            file.toString());
    assertThat(status).isZero();
  }

  private int line(String text) throws Exception {
    var lines = Files.readAllLines(source);
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).contains(text)) {
        return i + 1;
      }
    }
    throw new AssertionError(text);
  }

  private Map<String, Object> request(String method, Object... arguments) {
    return new HashMap<>(
        Map.of(
            "class",
            "sample.Waves",
            "classPath",
            List.of(folder.resolve("classes").toString()),
            "method",
            method,
            "args",
            List.of(arguments),
            "sourcePath",
            folder.toString()));
  }

  private Map<String, Object> waves() throws Exception {
    compile("-g", source);
    var x = MemorySegment.ofArray(new byte[4 * LENGTH]);
    for (int i = 0; i < LENGTH; i++) {
      x.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 4L * i, i);
    }
    var file = folder.resolve("x.npy");
    TensorFile.write(file, new HostTensor(new TensorType(DType.F32, Shape.of(LENGTH)), x));
    return request("waves", "in:" + file, "out:" + result() + ":i32:20", "0.5", "true", 18);
  }

  private Path result() {
    return folder.resolve("out.npy");
  }

  private int stopAt(int line, @Nullable String condition) throws Exception {
    var breakpoint = client.breakpoint(source.toString(), line, condition);
    assertThat(breakpoint.getMessage()).isNull();
    assertThat(breakpoint.getLine()).isEqualTo(line);
    client.start();
    var stop = client.stopped();
    assertThat(stop.getHitBreakpointIds()).containsExactly(breakpoint.getId());
    return stop.getThreadId();
  }

  private StackFrame top(int thread) throws Exception {
    return client.frames(thread)[0];
  }

  private int lineOf(int thread) throws Exception {
    return top(thread).getLine();
  }

  private void over(int thread) throws Exception {
    var arguments = new NextArguments();
    arguments.setThreadId(thread);
    client.server.next(arguments).get();
    client.stopped();
  }

  private void into(int thread) throws Exception {
    var arguments = new StepInArguments();
    arguments.setThreadId(thread);
    client.server.stepIn(arguments).get();
    client.stopped();
  }

  private void out(int thread) throws Exception {
    var arguments = new StepOutArguments();
    arguments.setThreadId(thread);
    client.server.stepOut(arguments).get();
    client.stopped();
  }

  private void back(int thread) throws Exception {
    var arguments = new StepBackArguments();
    arguments.setThreadId(thread);
    client.server.stepBack(arguments).get();
    client.stopped();
  }

  private void resume() throws Exception {
    client.server.continue_(new ContinueArguments()).get();
  }

  @Test
  void showsVariablesWithTheirNamesAndTypes() throws Exception {
    client.launch(waves());
    int thread = stopAt(line("int unused"), null);
    var frame = top(thread);
    assertThat(frame.getName()).isEqualTo("Waves.waves · lanes 0–17");
    assertThat(frame.getSource().getPath()).isEqualTo(source.toString());
    assertThat(client.scopes(frame.getId()))
        .extracting(Scope::getName)
        .startsWith("Variables", "Variables by lane", "Lanes", "By lane");
    var scope = client.scopes(frame.getId())[0];
    assertThat(client.variables(scope.getVariablesReference(), null, null))
        .extracting(Variable::getName, Variable::getType)
        .containsExactly(
            tuple("x", "float[]"),
            tuple("out", "int[]"),
            tuple("alpha", "float"),
            tuple("doubled", "boolean"),
            tuple("n", "int"),
            tuple("i", "int"),
            tuple("sum", "float"),
            tuple("point", "Point"),
            tuple("letter", "char"),
            tuple("big", "long"));
    int id = frame.getId();
    assertThat(client.variable(id, "Variables", "x").getValue())
        .isEqualTo("float[20] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, …}");
    assertThat(client.variable(id, "Variables", "alpha").getValue()).isEqualTo("0.5 in lanes 0–17");
    assertThat(client.variable(id, "Variables", "doubled").getValue()).startsWith("true in");
    assertThat(client.variable(id, "Variables", "letter").getValue()).startsWith("'a' (97) in");
    assertThat(client.variable(id, "Variables", "big").getValue()).startsWith("1099511627776 in");
    var sum = client.variable(id, "Variables", "sum");
    assertThat(sum.getValue()).startsWith("3.0, 4.5, 6.0, ");
    assertThat(client.variables(sum.getVariablesReference(), 2, 1)[0].getValue()).isEqualTo("6.0");
    assertThat(client.variables(sum.getVariablesReference(), 18, 1)[0].getValue())
        .isIn("exited", "not written");
    var point = client.variable(id, "Variables", "point");
    assertThat(point.getValue()).startsWith("Point[x=6.0, y=0.0], Point[x=9.0, y=2.0], ");
    assertThat(client.variables(point.getVariablesReference(), null, null))
        .extracting(Variable::getName, Variable::getType)
        .containsExactly(tuple("x", "float"), tuple("y", "float"));
    var lane = client.variable(id, "Variables by lane", "lane 5");
    assertThat(client.variables(lane.getVariablesReference(), null, null))
        .extracting(Variable::getName, Variable::getValue)
        .contains(
            tuple("x", "float[20] x"), tuple("i", "5"), tuple("point", "Point[x=21.0, y=10.0]"));
    assertThat(client.evaluate("i[7]", id)).isEqualTo("7");
    assertThat(client.evaluate("point.y[3]", null)).isEqualTo("6.0");
    assertThat(client.evaluate("x[12]", id)).isEqualTo("12.0");
    assertThat(client.evaluate("out.length", id)).isEqualTo("20 in lanes 0–17");
    over(thread);
    assertThat(client.evaluate("unused[2]", null)).isEqualTo("14");
    resume();
    client.terminated();
    // sum * 2 + 2 * i + 1
    assertThat(TensorFile.read(result()).data().get(ValueLayout.JAVA_INT_UNALIGNED, 4 * 4))
        .isEqualTo(2 * 9 + 2 * 4 + 1);
  }

  @Test
  void stepsOverIntoOutAndBack() throws Exception {
    client.launch(waves());
    int call = line("sum += scale");
    int thread = stopAt(call, "j == 1 && i >= 3 && doubled == true");
    assertThat(client.evaluate("sum[4]", null)).isEqualTo("3.0");
    into(thread);
    var frames = client.frames(thread);
    assertThat(frames)
        .extracting(StackFrame::getName)
        .startsWith("Waves.scale · lanes 0–17", "Waves.waves · lanes 0–17");
    assertThat(frames[0].getLine()).isEqualTo(line("float result"));
    assertThat(frames[1].getLine()).isEqualTo(call);
    assertThat(client.evaluate("value[4]", frames[0].getId())).isEqualTo("4.0");
    assertThat(client.evaluate("i[4]", frames[1].getId())).isEqualTo("4");
    assertThat(failure(() -> client.evaluate("value", frames[1].getId())))
        .isEqualTo(
            "\"value\" is no variable, register, parameter, buffer or shared array of waves");
    over(thread);
    assertThat(lineOf(thread)).isEqualTo(line("result += 1"));
    assertThat(client.evaluate("result[4]", null)).isEqualTo("2.0");
    out(thread);
    assertThat(lineOf(thread)).isEqualTo(call);
    assertThat(client.frames(thread)[0].getName()).startsWith("Waves.waves");
    assertThat(client.evaluate("sum[4]", null)).isEqualTo("3.0");
    over(thread);
    assertThat(lineOf(thread)).isEqualTo(line("for (int j"));
    assertThat(client.evaluate("sum[4]", null)).isEqualTo("6.0");
    over(thread);
    assertThat(lineOf(thread)).isEqualTo(call);
    assertThat(client.evaluate("j", null)).isEqualTo("2 in lanes 0–17");
    over(thread);
    assertThat(lineOf(thread)).isEqualTo(line("for (int j"));
    assertThat(client.evaluate("sum[4]", null)).isEqualTo("9.0");
    back(thread);
    assertThat(client.frames(thread)[0].getName()).startsWith("Waves.scale");
    assertThat(lineOf(thread)).isEqualTo(line("result += 1"));
    back(thread);
    back(thread);
    assertThat(lineOf(thread)).isEqualTo(call);
    assertThat(client.evaluate("sum[4]", null)).isEqualTo("6.0");
  }

  @Test
  void theStepsOfOneTurnHitABreakpointOnce() throws Exception {
    client.launch(waves());
    int thread = stopAt(line("sum += scale"), null);
    for (int turn = 0; turn < 3; turn++) {
      assertThat(client.evaluate("j", null)).isEqualTo(turn + " in lanes 0–17");
      resume();
      if (turn < 2) {
        assertThat(client.stopped().getThreadId()).isEqualTo(thread);
      }
    }
    client.terminated();
  }

  @Test
  void theConfigurationOfTheDocumentationStarts() throws Exception {
    source = Path.of("../examples/saxpy/src/main/java/com/example/Saxpy.java");
    compile("-g", source);
    var text = Files.readString(Path.of("../docs/debugging.md"));
    var section = text.substring(text.indexOf("## A kernel in Java"));
    var json = section.substring(section.indexOf("```json\n") + 8);
    var configuration =
        new JsonMapper()
            .readValue(
                json.substring(0, json.indexOf("```"))
                    .replace(
                        "${workspaceFolder}/examples/saxpy/target/classes",
                        folder.resolve("classes").toString())
                    .replace("${workspaceFolder}", ".."),
                new TypeReference<Map<String, Object>>() {});
    client.launch(configuration);
    int thread = stopAt(line("y[i] = Math.fma"), "i == 3");
    assertThat(client.evaluate("x[3]", null)).isEqualTo("4.0");
    assertThat(top(thread).getSource().getPath()).endsWith("com/example/Saxpy.java");
    assertThat(client.printed()).isEmpty();
    resume();
    client.terminated();
  }

  @Test
  void aConditionThatCannotBeSaysWhy() throws Exception {
    client.launch(waves());
    var path = source.toString();
    assertThat(client.breakpoint(path, line("int i ="), "sum > 1").getMessage())
        .isEqualTo(
            "no variable sum has a value at Waves.java:%d; those that have are x, out, alpha, doubled, n"
                .formatted(line("int i =")));
    assertThat(client.breakpoint(path, line("int unused"), "x > 1").getMessage())
        .isEqualTo(
            "x is a float[]; conditions compare numbers, such as its components or its length");
    assertThat(
            client.breakpoint(path, line("int unused"), "x.length > 1 && point.x > 1").getMessage())
        .isNull();
  }

  @Test
  void showsDivergedLanesAndVariablesOfBothPaths() throws Exception {
    compile("-g", source);
    client.launch(request("split", "zeros:16", "zeros:5", "2"));
    int thread = stopAt(line("chosen = 10"), null);
    assertThat(client.frames(thread))
        .extracting(StackFrame::getName)
        .containsExactlyInAnyOrder("Waves.split · lanes 0–1", "Waves.split · lanes 2–3");
    assertThat(client.evaluate("bytes", null))
        .isEqualTo("MemorySegment of 5 bytes {0, 0, 0, 0, 0}");
    assertThat(client.evaluate("lane", null)).startsWith("2 in ");
    var array = client.variable(top(thread).getId(), "Variables by lane", "lane 1");
    assertThat(client.variables(array.getVariablesReference(), null, null))
        .extracting(Variable::getName, Variable::getValue)
        .contains(tuple("array", "int[8]"));
    int join = line("out[i] = chosen");
    client.breakpoint(source.toString(), join, "lane == 2 && chosen == 20");
    resume();
    client.stopped();
    assertThat(lineOf(thread)).isEqualTo(join);
    assertThat(client.evaluate("chosen", null)).isEqualTo("10, 10, 20, 20");
    assertThat(client.evaluate("array[3]", null)).isEqualTo("int[4]");
    client.breakpoint(source.toString(), line("while"), null);
    resume();
    client.stopped();
    assertThat(client.evaluate("out[3]", null)).isEqualTo("23");
    resume();
    client.stopped();
    assertThat(client.evaluate("out[3]", null)).isEqualTo("22");
  }

  @Test
  void stopsAtARace() throws Exception {
    compile("-g", source);
    var request = request("race", "zeros:256");
    request.put("sanitize", true);
    client.launch(request);
    client.start();
    var race = client.stopped();
    assertThat(race.getDescription()).isEqualTo("RACE_IN_BLOCK");
    var frames = client.frames(race.getThreadId());
    assertThat(frames[0].getLine()).isEqualTo(line("tile[63 - i]"));
    assertThat(frames[1].getName()).startsWith("other access: st.shared");
    assertThat(frames[1].getLine()).isEqualTo(line("tile[i] = data[i]"));
    assertThat(client.evaluate("tile[3]", frames[0].getId())).isEqualTo("0");
    assertThat(client.variable(frames[0].getId(), "Variables", "tile").getType())
        .isEqualTo("int[]");
    assertThat(client.evaluate(":other", null)).isEqualTo("Going to the other access …");
    assertThat(lineOf(client.stopped().getThreadId())).isEqualTo(line("tile[i] = data[i]"));
  }

  @Test
  void aFailedCheckEndsTheLaunchUnlessItIsUnchecked() throws Exception {
    compile("-g", source);
    var request = request("beyond", "zeros:128", 8);
    request.put("block", 32);
    client.launch(request);
    client.start();
    client.terminated();
    assertThat(client.printed())
        .contains("Waves.java:%d".formatted(line("data[at]")))
        .contains("32");
  }

  @Test
  void withoutChecksAnAccessOutOfBoundsStops() throws Exception {
    compile("-g", source);
    var request = request("beyond", "zeros:128", 8);
    request.putAll(Map.of("block", 32, "unchecked", true));
    client.launch(request);
    client.start();
    var fault = client.stopped();
    assertThat(fault.getDescription()).isEqualTo("OUT_OF_BOUNDS");
    assertThat(client.evaluate("at[31]", client.frames(fault.getThreadId())[0].getId()))
        .isEqualTo("39");
  }

  @Test
  void passesArgumentsOfAllTypes() throws Exception {
    compile("-g", source);
    client.launch(request("all", "true", "-1", "0x10", "c", "5000000000", "2.5", "zeros:8"));
    int thread = stopAt(line("g[0] ="), null);
    int id = top(thread).getId();
    assertThat(List.of("a", "b", "c", "d", "e", "f"))
        .extracting(name -> client.evaluate(name, id))
        .containsExactly(
            "true in all lanes",
            "-1 in all lanes",
            "16 in all lanes",
            "'c' (99) in all lanes",
            "5000000000 in all lanes",
            "2.5 in all lanes");
  }

  @Test
  void saysWhichClassesHaveNoVariables() throws Exception {
    compile("-g:source,lines", source);
    var request = request("race", "zeros:256");
    client.launch(request);
    assertThat(client.printed())
        .isEqualTo(
            "the variables of Waves.race are not shown: its class file has no LocalVariableTable; compile it with -g\n");
    int thread = stopAt(line("tile[i] ="), null);
    assertThat(client.scopes(top(thread).getId())[0].getName()).isEqualTo("Variables");
    assertThat(
            client.variables(
                client.scopes(top(thread).getId())[0].getVariablesReference(), null, null))
        .isEmpty();
    assertThat(client.breakpoint(source.toString(), line("tile[i] ="), "i == 1").getMessage())
        .endsWith("; none has");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          class=sample.Wave | `class` sample.Wave: the class path has no such class: CLASSES; give its package, and write nested classes Outer$Inner
          classPath=/no/folder | `classPath` /no/folder: there is no such folder or jar
          classPath= | `classPath` is missing
          method=wave | `method` wave: there is no such method; the kernels of sample.Waves are all, beyond, race, split, text, waves
          method= | `method` is missing; the kernels of sample.Waves are all, beyond, race, split, text, waves
          method=plain | sample.Waves.plain is no kernel; annotate it with @GpuKernel
          method=text | Waves.java:59: a string is concatenated; write numbers to an array (in text)
          args= | `args` has 0 arguments; race takes 1: int[] data
          args=zeros:256 7 | `args` has 2 arguments; race takes 1: int[] data
          args=7 | `args` 7: parameter `data` is int[]; give in:FILE.npy, inout:FILE.npy, out:FILE.npy:DTYPE:SHAPE or zeros:BYTES
          args=out:x.npy:f32:4 | `args` out:x.npy:f32:4: parameter `data` is int[]; its elements are f32
          args=zeros:255 | `args` zeros:255: parameter `data` is int[]; 255 bytes are no whole number of elements
          args=in:no.npy | `args` in:no.npy: there is no readable file of that name
          block=32 | `block` 32: race declares blocks of 64x1x1 threads; leave it out
          block=none | `block` none: it takes one to three numbers, 16,16
          shape=x=4 | `shape` is not an argument of a kernel in Java; it is one of `op`
          cluster=2 | `cluster` is not an argument of a kernel in Java; it is one of `program`
          target=ada | `target` ada: "ada" is not a target; write sm_80 or sm_90a
          unchecked=yes | `unchecked` is yes; it takes true or false
          method=beyond args=zeros:64 x | `args` x: parameter `shift` is int; give a whole number that fits the type
          method=beyond args=zeros:64 1 | `block` is missing; beyond declares no blockSize
          method=all args=1 1 1 c 1 1 zeros:8 | `args` 1: parameter `a` is boolean; give true or false
          method=all args=true 1 70000 c 1 1 zeros:8 | `args` 70000: parameter `c` is short; give a whole number that fits the type
          method=all args=true 1 7 cd 1 1 zeros:8 | `args` cd: parameter `d` is char; give one character
          method=all args=true 1 7 c 1 one zeros:8 | `args` one: parameter `f` is double; give a number such as 0.5
          """)
  void aBadLaunchIsAnsweredWithOneSentence(String change, String sentence) throws Exception {
    compile("-g", source);
    var request = request("race", "zeros:256");
    for (var part : change.split(" (?=[a-zA-Z]+=)", -1)) {
      var pair = part.split("=", 2);
      if (pair[1].isEmpty()) {
        request.remove(pair[0]);
      } else {
        request.put(
            pair[0], pair[0].equals("args") ? Arrays.asList(pair[1].split(" ", -1)) : pair[1]);
      }
    }
    assertThat(failure(() -> client.launch(request)))
        .isEqualTo(sentence.replace("CLASSES", folder.resolve("classes").toString()));
  }
}
