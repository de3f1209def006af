package dev.athanor.engine.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random kernels print, parse, verify and assemble. {@code -Drandom.kernels=10000} generates more
 * of them, {@code -Drandom.seed=…} others.
 */
class RandomKernelsTest {

  private static final int KERNELS = Integer.getInteger("random.kernels", 200);

  /** Assembling takes much longer than the rest. */
  private static final int ASSEMBLED =
      Boolean.getBoolean("athanor.sweep") ? KERNELS : Math.min(KERNELS, 50);

  private static final long SEED = Long.getLong("random.seed", 1);

  @Test
  void printParseAndVerify() {
    Set<String> opcodes = new HashSet<>();
    for (long seed = SEED; seed < SEED + KERNELS; seed++) {
      var module = RandomKernels.module(seed);
      var text = module.toString();
      try {
        var again = Parser.parse(text, "random-" + seed + ".ptx");
        assertThat(again).hasToString(text);
        assertThat(again.kernels().getFirst().body()).isEqualTo(module.kernels().getFirst().body());
        Verifier.verify(again);
      } catch (IllegalArgumentException | PtxSyntaxException | AssertionError e) {
        throw new AssertionError("random kernel " + seed + ":\n" + text, e);
      }
      module.kernels().getFirst().instructions().forEach(i -> opcodes.add(i.opcode()));
    }
    assertThat(opcodes).hasSizeGreaterThan(KERNELS);
  }

  @Test
  void seedsAreReproducible() {
    assertThat(RandomKernels.module(7)).isEqualTo(RandomKernels.module(7));
    assertThat(RandomKernels.module(7).toString()).isNotEqualTo(RandomKernels.module(8).toString());
  }

  /**
   * The compiler of CUDA 12.0 crashes on about one in ten of these kernels and takes the process
   * down. It therefore runs in a separate process, which reads the texts from files and restarts
   * after a crash; a newer assembler, if present, must accept the kernel.
   */
  @Test
  void assemble(@TempDir Path texts) throws IOException, InterruptedException {
    long end = SEED + ASSEMBLED;
    for (long seed = SEED; seed < end; seed++) {
      var module = RandomKernels.module(seed);
      Files.writeString(texts.resolve(seed + ".ptx"), module.target() + "\n" + module);
    }
    var fatal = new ArrayList<Long>();
    for (long next = SEED; next < end; ) {
      var child =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-XX:+SuppressFatalErrorMessage",
                  "-XX:TieredStopAtLevel=1",
                  "-XX:+UseSerialGC",
                  "--enable-native-access=ALL-UNNAMED",
                  "-cp",
                  System.getProperty("java.class.path"),
                  RandomKernelsTest.class.getName(),
                  texts.toString(),
                  Long.toString(next),
                  Long.toString(end))
              .redirectErrorStream(true)
              .start();
      List<String> said;
      try (var output = child.inputReader()) {
        said = output.lines().toList();
      }
      int status = child.waitFor();
      if (status == 0) {
        break;
      }
      assertThat(said).as("status %d", status).isNotEmpty();
      var last = said.getLast();
      assertThat(last).as(String.join("\n", said)).matches("assembling \\d+");
      long seed = Long.parseLong(last.split(" ", -1)[1]);
      fatal.add(seed);
      next = seed + 1;
    }
    assertThat(fatal).as("kernels that the compiler died of").hasSizeLessThan(5 + ASSEMBLED / 4);
    var newer = Ptxas.find();
    if (newer.isPresent()) {
      for (long seed : fatal) {
        assemble(newer.get(), texts, seed);
      }
    }
  }

  /** Assembles the kernels in a directory, from one number up to another (exclusive). */
  public static void main(String[] arguments) throws IOException {
    var assembler = JCudaAssembler.find().orElseThrow();
    var texts = Path.of(arguments[0]);
    for (long seed = Long.parseLong(arguments[1]); seed < Long.parseLong(arguments[2]); seed++) {
      System.out.println("assembling " + seed);
      assemble(assembler, texts, seed);
    }
  }

  private static void assemble(Assembler assembler, Path texts, long seed) throws IOException {
    var text = Files.readString(texts.resolve(seed + ".ptx"));
    int line = text.indexOf('\n');
    try {
      var target = Target.of(text.substring(0, line));
      assertThat(assembler.assemble(text.substring(line + 1), target).cubin()).isNotEmpty();
    } catch (Assembler.AssemblyException e) {
      throw new AssertionError("random kernel " + text, e);
    }
  }
}
