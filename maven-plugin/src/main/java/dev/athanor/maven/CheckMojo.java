package dev.athanor.maven;

import dev.athanor.engine.analysis.Assembler.AssemblyException;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.MojoFailureException;
import org.apache.maven.plugins.annotations.LifecyclePhase;
import org.apache.maven.plugins.annotations.Mojo;
import org.apache.maven.plugins.annotations.Parameter;
import org.apache.maven.plugins.annotations.ResolutionScope;

/**
 * Lifts every method with {@code @GpuKernel} among the compiled classes, and fails the build if one
 * cannot run on a GPU. An error gives the file and the line. Bodies are checked, which the
 * annotation processor of the engine does not see.
 */
@Mojo(
    name = "check",
    defaultPhase = LifecyclePhase.PROCESS_CLASSES,
    requiresDependencyResolution = ResolutionScope.COMPILE_PLUS_RUNTIME,
    threadSafe = true)
@SuppressWarnings("NullAway.Init") // Maven sets the fields
public final class CheckMojo extends AbstractMojo {

  /** The folder of the class files. */
  @Parameter(defaultValue = "${project.build.outputDirectory}", readonly = true)
  File classes;

  /** The source folders of the project. */
  @Parameter(defaultValue = "${project.compileSourceRoots}", readonly = true)
  List<String> sourceRoots;

  /** The class path of compilations, which has what a container provides. */
  @Parameter(defaultValue = "${project.compileClasspathElements}", readonly = true)
  List<String> compileClassPath;

  /** The class path of the program. */
  @Parameter(defaultValue = "${project.runtimeClasspathElements}", readonly = true)
  List<String> runtimeClassPath;

  /**
   * Targets such as {@code sm_80}, for each of which the {@code ptxas} on the {@code PATH}
   * assembles the kernels. Its messages and spilled registers are warnings.
   */
  @Parameter(property = "athanor.check.targets")
  List<String> targets = List.of();

  /** Skips the check. */
  @Parameter(property = "athanor.check.skip", defaultValue = "false")
  boolean skip;

  /** Finds the assembler; tests replace it. */
  Supplier<Optional<Ptxas>> assemblers = Ptxas::find;

  /** A kernel in messages: its first line in the source, and its name. */
  private record Place(String file, int line, String kernel) {
    String position() {
      return file + (line == 0 ? "" : ":" + line);
    }

    @Override
    public String toString() {
      return position() + ": " + kernel;
    }
  }

  @Override
  public void execute() throws MojoExecutionException, MojoFailureException {
    if (skip) {
      getLog().info("The check of kernels is skipped.");
      return;
    }
    var parsed = targets();
    try {
      var found =
          classes.isDirectory()
              ? KernelClassFile.below(classes.toPath())
              : List.<KernelClassFile>of();
      if (found.isEmpty()) {
        getLog().debug("No kernels in " + classes);
        return;
      }
      check(found, parsed);
    } catch (IOException e) {
      throw new MojoExecutionException("The classes cannot be read: " + e, e);
    }
  }

  private List<Target> targets() throws MojoExecutionException {
    try {
      return targets.stream().map(String::strip).map(Target::of).toList();
    } catch (IllegalArgumentException e) {
      throw new MojoExecutionException("targets: " + e.getMessage(), e);
    }
  }

  private void check(List<KernelClassFile> found, List<Target> parsed)
      throws IOException, MojoFailureException {
    var assembler = parsed.isEmpty() ? Optional.<Ptxas>empty() : assemblers.get();
    if (!parsed.isEmpty() && assembler.isEmpty()) {
      getLog().warn("Kernels are not assembled for `targets`: there is no ptxas on the PATH.");
    }
    var sources = SourceFiles.in(sourceRoots.stream().map(Path::of).toList());
    int kernels = 0;
    int refused = 0;
    // The parent has the engine of this plugin, which lifts the kernels: a class loader of their
    // own would give them another @GpuKernel, and would need reflection for every call. Projects
    // give the plugin and the engine the same version.
    try (var loader = new URLClassLoader(classPath(), CheckMojo.class.getClassLoader())) {
      for (var type : found) {
        for (var kernel : type.kernels()) {
          kernels++;
          var place =
              new Place(
                  sources.path(type.sourceFile(), type.packageFolder()),
                  kernel.line(),
                  kernel.name());
          try {
            var module = Kernels.of(type.load(kernel, loader)).module(false);
            assembler.ifPresent(program -> assemble(program, module, parsed, place));
          } catch (LiftException e) {
            getLog().error(error(e, place, sources.path(e.source().file(), type.packageFolder())));
            refused++;
          } catch (ReflectiveOperationException | LinkageError | TypeNotPresentException e) {
            getLog().error("%s cannot be loaded: %s".formatted(place, e));
            refused++;
          }
        }
      }
    }
    if (refused > 0) {
      throw new MojoFailureException(
          "Kernels that cannot run on a GPU: %d of %d".formatted(refused, kernels));
    }
    getLog().info("Kernels that can run on a GPU: " + kernels);
  }

  /** Returns a message with the path of its file; the place of the kernel if it has no line. */
  private static String error(LiftException refusal, Place kernel, String path) {
    var source = refusal.source();
    var sentence = String.valueOf(refusal.getMessage()).substring(source.toString().length());
    return (source.line() == 0 ? kernel.position() : path + ":" + source.line()) + sentence;
  }

  private URL[] classPath() throws IOException {
    var elements = new LinkedHashSet<>(runtimeClassPath);
    elements.addAll(compileClassPath);
    var urls = new URL[elements.size()];
    int next = 0;
    for (var element : elements) {
      urls[next++] = Path.of(element).toUri().toURL();
    }
    return urls;
  }

  private void assemble(Ptxas assembler, Module module, List<Target> parsed, Place place) {
    for (var target : parsed) {
      try {
        var assembly = assembler.assemble(Legalizer.legalize(module, target).toString(), target);
        assembly.warnings().forEach(warning -> warn(place, target, warning));
        assembly.kernels().values().stream()
            .filter(usage -> usage.spillStoreBytes() + usage.spillLoadBytes() > 0)
            .forEach(usage ->
                warn(
                    place,
                    target,
                    "registers are spilled: %d bytes of stores, %d bytes of loads, with %d registers per thread"
                        .formatted(
                            usage.spillStoreBytes(), usage.spillLoadBytes(), usage.registers())));
      } catch (AssemblyException e) {
        warn(place, target, String.valueOf(e.getMessage()));
      }
    }
  }

  private void warn(Place place, Target target, String message) {
    getLog().warn("%s for %s: %s".formatted(place, target, message));
  }
}
