package dev.athanor.ops.plugin;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpProvider;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/**
 * The built-in ops and those of all jars in a folder.
 *
 * @param jars file names of the jars
 */
public record Plugins(Catalogue catalogue, List<String> jars) {

  public Plugins {
    jars = List.copyOf(jars);
  }

  /** Thrown for a plugin folder or jar that cannot be used; the message states the reason. */
  public static final class Unusable extends RuntimeException {
    private Unusable(String message, Throwable cause) {
      super(message, cause);
    }

    private Unusable(String message) {
      super(message);
    }
  }

  /**
   * Loads the ops.
   *
   * @param folder contains jars, each with a {@code META-INF/services} file that names its {@link
   *     OpProvider}
   * @throws Unusable if the folder cannot be read, a provider fails, or two ops have the same name
   */
  public static Plugins load(Path folder) {
    var jars = new ArrayList<Path>();
    var urls = new ArrayList<URL>();
    try (var files = Files.newDirectoryStream(folder, "*.jar")) {
      for (var file : files) {
        jars.add(file);
        urls.add(file.toUri().toURL());
      }
    } catch (IOException e) {
      throw new Unusable(
          "cannot read the plugin folder %s; it must be a folder with jars".formatted(folder), e);
    }
    var parent = Plugins.class.getClassLoader();
    var loader = new URLClassLoader("plugins", urls.toArray(URL[]::new), parent);
    return new Plugins(
        new Catalogue(ops(folder, loader)),
        jars.stream().map(each -> String.valueOf(each.getFileName())).sorted().toList());
  }

  private static List<Op> ops(Path folder, ClassLoader loader) {
    var all = new ArrayList<Op>();
    var origins = new HashMap<String, String>();
    var providers = ServiceLoader.load(OpProvider.class, loader).stream().iterator();
    var origin = "plugins in " + folder;
    try {
      while (providers.hasNext()) {
        var provider = providers.next();
        origin = origin(provider.type(), loader);
        for (var op : provider.get().ops()) {
          var name = op.description().name();
          var other = origins.putIfAbsent(name, origin);
          if (other != null) {
            throw new Unusable(
                "%s: an op of %s has the name \"%s\" too; choose another name"
                    .formatted(origin, other, name));
          }
          all.add(op);
        }
        origin = "plugins in " + folder;
      }
    } catch (Unusable e) {
      throw e;
    } catch (ServiceConfigurationError | RuntimeException | LinkageError e) {
      throw new Unusable("%s: %s".formatted(origin, sentence(e)), e);
    }
    return all;
  }

  private static String origin(Class<?> type, ClassLoader loader) {
    var source = type.getProtectionDomain().getCodeSource();
    return !loader.equals(type.getClassLoader()) || source == null
        ? "Athanor"
        : source.getLocation().getPath().replaceFirst(".*/", "");
  }

  /** Returns an error message from the root cause. */
  private static String sentence(Throwable failure) {
    var cause = failure;
    while (isWrapper(cause) && cause.getCause() != null) {
      cause = Objects.requireNonNull(cause.getCause());
    }
    return switch (cause) {
      case IllegalArgumentException e -> text(e.getMessage());
      case ServiceConfigurationError e ->
          text(e.getMessage()) + "; check the file META-INF/services/" + OpProvider.class.getName();
      case LinkageError e -> e + "; compile the plugin against this version of Athanor";
      default -> cause.toString();
    };
  }

  private static boolean isWrapper(Throwable failure) {
    return failure instanceof ExceptionInInitializerError
        || failure instanceof ServiceConfigurationError;
  }

  private static String text(@Nullable String message) {
    return message == null ? "no reason given" : message;
  }
}
