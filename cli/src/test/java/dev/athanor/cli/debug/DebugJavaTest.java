package dev.athanor.cli.debug;

import static dev.athanor.cli.debug.DebugClient.failure;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.athanor.cli.argument.TensorFile;
import dev.athanor.testing.TestTier;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.JarOutputStream;
import java.util.zip.ZipEntry;
import org.eclipse.lsp4j.debug.ContinueArguments;
import org.eclipse.lsp4j.debug.NextArguments;
import org.eclipse.lsp4j.debug.Scope;
import org.eclipse.lsp4j.debug.StackFrame;
import org.eclipse.lsp4j.debug.StepBackArguments;
import org.eclipse.lsp4j.debug.StepInArguments;
import org.eclipse.lsp4j.debug.StepOutArguments;
import org.eclipse.lsp4j.debug.Variable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Tests sessions with Java kernels. */
@Tag(TestTier.THOROUGH_TAG)
class DebugJavaTest extends JavaSessions {

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
  void evaluatesExpressionsOfVariables() throws Exception {
    client.launch(waves());
    int thread =
        stopAt(
            line("int unused"),
            "i / 4 == 2 && point.y > 2 * i - 0.5 && (doubled ? x[i] : -1) < x.length && letter == 'a'");
    int id = top(thread).getId();
    assertThat(client.evaluate("i[17] * (int) alpha + 1", id)).isEqualTo("1 in lanes 0–17");
    assertThat(client.evaluate("x[i] + sum", id)).startsWith("3.0, 5.5, 8.0, ");
    assertThat(client.evaluate("x[2] * 2", id)).isEqualTo("4.0");
    assertThat(client.evaluate("(char) (letter + 1)", id)).isEqualTo("'b' (98) in lanes 0–17");
    assertThat(client.evaluate("big >> 38", id)).isEqualTo("4 in lanes 0–17");
    assertThat(client.evaluate("Math.max(point.x, 20f) - point.y", id)).startsWith("20.0, 18.0, ");
    assertThat(client.evaluate("!doubled || n > 18", id)).isEqualTo("false in lanes 0–17");
    assertThat(client.evaluate("x[12] > 11 ? x.length : 0", id)).isEqualTo("20 in lanes 0–17");
    assertThat(failure(() -> client.evaluate("point + 1", id)))
        .isEqualTo(
            "point is a Point; expressions take numbers and booleans, such as its components or its length");
    assertThat(failure(() -> client.evaluate("x[x.length]", id)))
        .isEqualTo("x[20] is out of bounds; an index is a number from 0 to 19");
    assertThat(failure(() -> client.evaluate("unused + 1", id)))
        .isEqualTo(
            "\"unused\" is not a variable, register, parameter, buffer or shared array of waves");
    over(thread);
    assertThat(client.evaluate("unused % 10", null)).startsWith("0, 7, 4, 1, 8, 5, ");
    assertThat(client.evaluate("unused[2] + unused[i % 2]", null)).startsWith("14, 21, 14, ");
  }

  @Test
  void aCompoundConditionStopsInItsTurn() throws Exception {
    client.launch(waves());
    int thread = stopAt(line("sum += scale"), "j * n + i == 37 && Math.abs(sum - 3f) < 0.1");
    assertThat(client.evaluate("j", null)).isEqualTo("2 in lanes 0–17");
    resume();
    client.terminated();
    assertThat(thread).isPositive();
  }

  @Test
  void readsArraysOfAThread() throws Exception {
    Files.writeString(
        source,
        Files.readString(source)
            .replace(
                "static void plain(",
                """
                @GpuKernel(blockSize = 4)
                static void own(int[] out) {
                  int i = Gpu.threadIdxX();
                  int[] mine = new int[5];
                  for (int k = 0; k < 5; k++) {
                    mine[k] = 10 * i + k;
                  }
                  out[i] = mine[i];
                }

                static void plain(\
                """));
    compile("-g", source);
    client.launch(request("own", "zeros:16"));
    stopAt(line("out[i] = mine[i]"), "mine[3] == 23");
    assertThat(client.evaluate("mine[i] + mine.length", null)).isEqualTo("5, 16, 27, 38");
    assertThat(failure(() -> client.evaluate("mine[5]", null)))
        .isEqualTo("mine[5] is out of bounds; an index is a number from 0 to 4");
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
            "\"value\" is not a variable, register, parameter, buffer or shared array of waves");
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

  /** The emulator expands the call; the instructions after it have their lines all the same. */
  @Test
  void showsWhatKernelsPrint() throws Exception {
    compile("-g", source);
    client.launch(request("prints", "out:" + result() + ":i32:32"));
    int thread = stopAt(line("int next"), "i == 3");
    over(thread);
    assertThat(lineOf(thread)).isEqualTo(line("next is"));
    assertThat(client.evaluate("next", null)).isEqualTo("3 in all lanes");
    over(thread);
    assertThat(lineOf(thread)).isEqualTo(line("data[i] = next"));
    assertThat(client.evaluate("i[5]", null)).isEqualTo("5");
    resume();
    client.terminated();
    assertThat(client.printed())
        .contains("lane 0 has 0\n", "lane 31 has 0\n", "next is 3, half of it 1.5\n");
  }

  @Test
  void stepsOfOneTurnHitABreakpointOnce() throws Exception {
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
  void configurationOfTheDocumentationStarts() throws Exception {
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
  void findsTheOnlyKernelOfAClassInAJar() throws Exception {
    source = Path.of("../examples/saxpy/src/main/java/com/example/Saxpy.java");
    compile("-g", source);
    var jar = folder.resolve("kernels.jar");
    try (var out = new JarOutputStream(Files.newOutputStream(jar))) {
      out.putNextEntry(new ZipEntry("com/example/Saxpy.class"));
      out.write(Files.readAllBytes(folder.resolve("classes/com/example/Saxpy.class")));
    }
    client.launch(
        Map.of(
            "class",
            "com.example.Saxpy",
            "classPath",
            jar.toString(),
            "args",
            List.of("zeros:64", "zeros:64", 2, 16),
            "sourcePath",
            "../examples/saxpy"));
    int thread = stopAt(line("y[i] = Math.fma"), "alpha == 2");
    assertThat(top(thread).getName()).isEqualTo("Saxpy.saxpy · lanes 0–15");
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
    assertThat(client.evaluate("array.length + chosen", null)).isEqualTo("18, 18, 28, 24");
    assertThat(client.evaluate("(array[array.length - 1] & 0) + i", null)).isEqualTo("0, 1, 2, 3");
    assertThat(client.evaluate("array[i * 2] & 0", null))
        .isEqualTo(
            "0, 0, 0, no value; array[6] is out of bounds; an index is a number from 0 to 3");
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
  void failedChecksEndCheckedLaunches() throws Exception {
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
  void uncheckedAccessesOutOfBoundsStop() throws Exception {
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
}
