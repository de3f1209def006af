package dev.athanor.cli.argument;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.plugin.Plugins;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The option {@code --plugins}. */
public final class PluginsOption {

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec command;

  @Option(
      names = "--plugins",
      description = "a folder of plugin jars with additional ops",
      paramLabel = "DIR")
  private @Nullable Path folder;

  /**
   * Returns the folder; null if there is none.
   *
   * @throws ParameterException if it is not a folder
   */
  public @Nullable Path folder() {
    if (folder != null && !Files.isDirectory(folder)) {
      throw usageError("no such folder: " + folder);
    }
    return folder;
  }

  /**
   * Returns the library's ops and those of the plugins.
   *
   * @throws ParameterException if the plugins cannot be used
   */
  public Catalogue catalogue() {
    return catalogue(null);
  }

  /**
   * Returns the library's ops and those of the plugins, or the given ops if there are no plugins.
   *
   * @throws ParameterException if the plugins cannot be used
   */
  public Catalogue catalogue(@Nullable Catalogue otherwise) {
    var jars = folder();
    if (jars == null) {
      return otherwise == null ? Catalogue.load() : otherwise;
    }
    try {
      return Plugins.load(jars).catalogue();
    } catch (Plugins.Unusable e) {
      throw usageError(String.valueOf(e.getMessage()));
    }
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(command.commandLine(), "--plugins: " + sentence);
  }
}
