package dev.athanor.cli.command;

import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.ResultFile;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code athanor version}. */
@Command(
    name = "version",
    description = "Prints the versions of Athanor, Java and the operating system.",
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
public final class VersionCommand implements Callable<Integer> {

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Option(names = "--json", description = "prints JSON")
  private boolean json;

  @Override
  public Integer call() {
    var build = Build.current();
    var out = spec.commandLine().getOut();
    if (json) {
      out.println(ResultFile.json(build));
    } else {
      out.printf("athanor %s%nJava %s%n%s%n", build.version(), build.java(), build.os());
    }
    out.flush();
    return CommandLine.ExitCode.OK;
  }
}
