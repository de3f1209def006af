package dev.athanor.cli;

import dev.athanor.cli.argument.UsageErrorHandler;
import dev.athanor.cli.command.ApiKeyCommand;
import dev.athanor.cli.command.BenchCommand;
import dev.athanor.cli.command.CompletionCommand;
import dev.athanor.cli.command.DebugCommand;
import dev.athanor.cli.command.EmulateCommand;
import dev.athanor.cli.command.GetCommand;
import dev.athanor.cli.command.ImportCommand;
import dev.athanor.cli.command.LoadCommand;
import dev.athanor.cli.command.NewCommand;
import dev.athanor.cli.command.OpsCommand;
import dev.athanor.cli.command.ProfileCommand;
import dev.athanor.cli.command.PsCommand;
import dev.athanor.cli.command.PtxCommand;
import dev.athanor.cli.command.PutCommand;
import dev.athanor.cli.command.RmCommand;
import dev.athanor.cli.command.RunCommand;
import dev.athanor.cli.command.ServeCommand;
import dev.athanor.cli.command.ShowcaseCommand;
import dev.athanor.cli.command.StatusCommand;
import dev.athanor.cli.command.TensorsCommand;
import dev.athanor.cli.command.TuneCommand;
import dev.athanor.cli.command.VerifyCommand;
import dev.athanor.cli.command.VersionCommand;
import dev.athanor.cli.demo.DemoCommand;
import dev.athanor.cli.report.Build;
import java.util.Locale;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The command line, {@code athanor}. Exit status 0: success; 1: failure; 2: usage error. */
@Command(
    name = "athanor",
    description = "GPU operations as a service for the JVM.",
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class,
    subcommands = {
      ServeCommand.class,
      ShowcaseCommand.class,
      DemoCommand.class,
      OpsCommand.class,
      NewCommand.class,
      RunCommand.class,
      VerifyCommand.class,
      BenchCommand.class,
      TuneCommand.class,
      ProfileCommand.class,
      PtxCommand.class,
      EmulateCommand.class,
      DebugCommand.class,
      StatusCommand.class,
      PsCommand.class,
      TensorsCommand.class,
      ImportCommand.class,
      PutCommand.class,
      GetCommand.class,
      RmCommand.class,
      LoadCommand.class,
      ApiKeyCommand.class,
      CompletionCommand.class,
      VersionCommand.class
    },
    synopsisSubcommandLabel = "COMMAND",
    footer = {"", "athanor COMMAND --help describes a command."})
public final class Athanor implements Runnable {

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  private Athanor() {}

  public static void main(String[] args) {
    // format numbers independently of the machine's locale
    Locale.setDefault(Locale.Category.FORMAT, Locale.ROOT);
    int status = commandLine().execute(args);
    // With status 0, threads of the server may still run; the JVM exits when they end.
    if (status != 0) {
      System.exit(status);
    }
  }

  /** Returns the program with all commands. */
  public static CommandLine commandLine() {
    return new CommandLine(new Athanor())
        .setParameterExceptionHandler(new UsageErrorHandler())
        .setExecutionExceptionHandler(new FailureHandler());
  }

  /** Prints the help if no command is given. */
  @Override
  public void run() {
    spec.commandLine().usage(spec.commandLine().getOut());
  }
}
