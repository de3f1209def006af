package dev.athanor.cli.debug;

import static dev.athanor.cli.debug.DebugClient.failure;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the error messages of sessions with Java kernels. */
class DebugJavaRefusalsTest extends JavaSessions {

  @Test
  void reportsWhyAConditionIsInvalid() throws Exception {
    client.launch(waves());
    var path = source.toString();
    assertThat(client.breakpoint(path, line("int i ="), "sum > 1").getMessage())
        .isEqualTo(
            "no variable sum has a value at Waves.java:%d; those that have are x, out, alpha, doubled, n"
                .formatted(line("int i =")));
    assertThat(client.breakpoint(path, line("int unused"), "x > 1").getMessage())
        .isEqualTo("x is an array; write an element such as x[0]");
    assertThat(client.breakpoint(path, line("int unused"), "x[i] > point").getMessage())
        .isEqualTo(
            "point is a Point; expressions take numbers and booleans, such as its components or its length");
    assertThat(
            client.breakpoint(path, line("int unused"), "x.length > 1 && point.x > 1").getMessage())
        .isNull();
  }

  @Test
  void warnsAboutClassesWithoutVariables() throws Exception {
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
          class=sample.Wave | `class` sample.Wave: not found on the class path CLASSES; did you mean sample.Waves?
          class=Particles | `class` Particles: not found on the class path CLASSES; write com.acme.Saxpy, and nested classes as Outer$Inner
          class=Waves method=wave | `method` wave: no such method; the kernels of sample.Waves are all, beyond, prints, race, split, text, vote, waves
          classPath=/no/folder | `classPath` /no/folder: no such folder or jar
          classPath= | `classPath` is missing
          method=wave | `method` wave: no such method; the kernels of sample.Waves are all, beyond, prints, race, split, text, vote, waves
          method= | `method` is missing; the kernels of sample.Waves are all, beyond, prints, race, split, text, vote, waves
          method=plain | sample.Waves.plain is no kernel; annotate it with @GpuKernel
          method=text | Waves.java:59: a string is concatenated; pass numbers to Gpu.print as values (in text)
          args= | `args`: got 0 arguments; race takes 1: int[] data
          args=zeros:256 7 | `args`: got 2 arguments; race takes 1: int[] data
          args=7 | `args` 7: parameter `data` is int[]; give in:FILE.npy, inout:FILE.npy, out:FILE.npy:DTYPE:SHAPE or zeros:BYTES
          args=out:x.npy:f32:4 | `args` out:x.npy:f32:4: parameter `data` is int[]; its elements are f32
          args=zeros:255 | `args` zeros:255: parameter `data` is int[]; 255 bytes are not a whole number of elements
          args=in:no.npy | `args` in:no.npy: cannot read the file
          block=32 | `block` 32: race declares blocks of 64x1x1 threads; leave it out
          block=none | `block` none: expected one to three numbers, such as 16,16
          shape=x=4 | `shape` is not an argument of a kernel in Java; it is one of `op`
          cluster=2 | `cluster` is not an argument of a kernel in Java; it is one of `program`
          target=ada | `target` ada: "ada" is not a target; write sm_80 or sm_90a
          unchecked=yes | `unchecked` is yes; expected true or false
          method=beyond args=zeros:64 x | `args` x: parameter `shift` is int; give a whole number that fits the type
          method=beyond args=zeros:64 1 | `block` is missing; beyond declares no blockSize
          method=vote args=MAYBE 1 zeros:4 | `args` MAYBE: parameter `answer` is Answer; give one of YES, NO
          method=vote args=NO 1 zeros:4 | `args` 1: parameter `point` is Point; write a kernel that takes the components of the record
          method=vote args=NO zeros:4 | `args`: got 2 arguments; vote takes 3: Answer answer, Point point, int[] out
          method=all args=1 1 1 c 1 1 zeros:8 | `args` 1: parameter `a` is boolean; give true or false
          method=all args=true 1 70000 c 1 1 zeros:8 | `args` 70000: parameter `c` is short; give a whole number that fits the type
          method=all args=true 1 7 cd 1 1 zeros:8 | `args` cd: parameter `d` is char; give one character
          method=all args=true 1 7 c 1 one zeros:8 | `args` one: parameter `f` is double; give a number such as 0.5
          """)
  @Tag(TestTier.THOROUGH_TAG)
  void reportsInvalidLaunchesInOneSentence(String change, String sentence) throws Exception {
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
