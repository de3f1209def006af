package dev.athanor.engine.analysis;

import dev.athanor.engine.natives.Platform;
import dev.athanor.engine.ptx.Target;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The assembler of a CUDA toolkit, a program. */
public final class Ptxas implements Assembler {

  private final Path program;
  private final String version;

  private Ptxas(Path program) {
    this.program = program;
    version =
        run("--version")
            .lines()
            .filter(line -> line.startsWith("Cuda compilation tools"))
            .findFirst()
            .map(line -> line.replaceAll(".*release ([\\d.]+).*", "$1"))
            .orElse("of an unknown version");
  }

  /** The one on the {@code PATH}, where there is one. */
  public static Optional<Ptxas> find() {
    return find(System.getenv().getOrDefault("PATH", ""));
  }

  /** The first in a list of directories written as in {@code PATH}. */
  static Optional<Ptxas> find(String path) {
    return Platform.CURRENT.findProgram("ptxas", path).map(Ptxas::new);
  }

  @Override
  public String name() {
    return "ptxas " + version;
  }

  @Override
  public Assembly assemble(String ptx, Target target) {
    try {
      var directory = Files.createTempDirectory("athanor-ptxas-");
      var source = directory.resolve("module.ptx");
      var cubin = directory.resolve("module.cubin");
      try {
        Files.writeString(source, ptx);
        var log =
            run("--gpu-name=" + target, "--verbose", source.toString(), "-o", cubin.toString());
        if (!Files.exists(cubin)) {
          throw new AssemblyException(name(), target, log.strip());
        }
        return Assembly.read(log, Files.readAllBytes(cubin));
      } finally {
        Files.deleteIfExists(source);
        Files.deleteIfExists(cubin);
        Files.delete(directory);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("ptxas needs a directory for temporary files", e);
    }
  }

  /** Runs the program and answers all that it said. */
  private String run(String... arguments) {
    var command = new ArrayList<>(List.of(program.toString()));
    command.addAll(List.of(arguments));
    try {
      var process = new ProcessBuilder(command).redirectErrorStream(true).start();
      process.getOutputStream().close();
      // It ends its output when it ends itself.
      return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(program + " could not be run", e);
    }
  }
}
