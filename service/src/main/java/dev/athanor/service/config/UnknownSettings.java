package dev.athanor.service.config;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.springframework.boot.context.event.ApplicationEnvironmentPreparedEvent;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.origin.OriginLookup;
import org.springframework.boot.origin.TextResourceOrigin;
import org.springframework.boot.support.EnvironmentPostProcessorApplicationListener;
import org.springframework.context.ApplicationListener;
import org.springframework.core.Ordered;
import org.springframework.core.env.CommandLinePropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.Resource;

/**
 * Rejects settings under {@code athanor} that do not exist, which are likely misspelled.
 *
 * <p>Files and the command line belong to the service, so any unknown key in them is rejected.
 * Environment variables and system properties are shared: {@code ATHANOR_PYTHON} configures the
 * benchmarks, and Kubernetes adds {@code ATHANOR_SERVICE_HOST} and {@code ATHANOR_PORT_8080_TCP}
 * for a Service named athanor. There, a name is rejected only if it belongs to a group of settings,
 * such as {@code ATHANOR_RUN_}, or is one edit away from a setting.
 */
public final class UnknownSettings
    implements ApplicationListener<ApplicationEnvironmentPreparedEvent>, Ordered {

  /** Thrown for unknown settings. The message has one sentence for each. */
  static final class Found extends RuntimeException {
    Found(String message) {
      super(message);
    }
  }

  /** The variables that Kubernetes sets in pods for the ports of a Service. */
  private static final Pattern SERVICE_LINK =
      Pattern.compile(
          ".*_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)");

  private static final ConfigurationPropertyName ROOT =
      ConfigurationPropertyName.of(Setting.PREFIX);

  private final List<Setting> settings = Setting.all();

  /** The top-level groups of settings: run, tensors, … */
  private final Set<String> groups =
      settings.stream()
          .map(setting -> setting.group().replaceFirst("\\..*", ""))
          .filter(Predicate.not(String::isEmpty))
          .collect(Collectors.toSet());

  /** Runs after the configuration is read. */
  @Override
  public int getOrder() {
    return EnvironmentPostProcessorApplicationListener.DEFAULT_ORDER + 1;
  }

  @Override
  public void onApplicationEvent(ApplicationEnvironmentPreparedEvent event) {
    check(event.getEnvironment());
  }

  /**
   * Checks all settings.
   *
   * @throws Found if any setting is unknown
   */
  void check(ConfigurableEnvironment environment) {
    var sentences = new ArrayList<String>();
    for (var source : environment.getPropertySources()) {
      if (source instanceof SystemEnvironmentPropertySource variables) {
        for (var name : new TreeSet<>(List.of(variables.getPropertyNames()))) {
          checkVariable(name).ifPresent(sentences::add);
        }
      } else if (source instanceof EnumerablePropertySource<?> properties) {
        for (var name : properties.getPropertyNames()) {
          checkProperty(name, properties).ifPresent(sentences::add);
        }
      }
    }
    if (!sentences.isEmpty()) {
      throw new Found(String.join(" ", sentences));
    }
  }

  private Optional<String> checkVariable(String variable) {
    var name = variable.toUpperCase(Locale.ROOT);
    var prefix = variableOf(Setting.PREFIX) + "_";
    if (!name.startsWith(prefix)
        || SERVICE_LINK.matcher(name).matches()
        || settings.stream().anyMatch(setting -> setting.isNamed(name))) {
      return Optional.empty();
    }
    var rest = name.substring(prefix.length());
    boolean ours =
        groups.stream().map(UnknownSettings::variableOf).anyMatch(isGroupOf(rest, "_"))
            || isNear(name, Setting::variable);
    return ours
        ? Optional.of(
            sentence(
                variable,
                "environment variable",
                nearest(rest, setting -> setting.variable().substring(prefix.length()), '_')
                    .map(Setting::variable)))
        : Optional.empty();
  }

  private Optional<String> checkProperty(String property, EnumerablePropertySource<?> source) {
    var name = ConfigurationPropertyName.adapt(property, '.');
    if (!ROOT.isAncestorOf(name)
        || settings.stream().anyMatch(setting -> setting.isNamed(name))
        || "".equals(source.getProperty(property))) { // an empty group in YAML
      return Optional.empty();
    }
    var key = name.toString();
    var rest = key.substring(Setting.PREFIX.length() + 1);
    boolean shared =
        source.getName().equals(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME);
    if (shared && groups.stream().noneMatch(isGroupOf(rest, ".")) && !isNear(key, Setting::key)) {
      return Optional.empty();
    }
    return Optional.of(
        sentence(
            property,
            place(property, source),
            nearest(rest, setting -> setting.key().substring(Setting.PREFIX.length() + 1), '.')
                .map(Setting::text)));
  }

  private static String variableOf(String name) {
    return name.toUpperCase(Locale.ROOT).replace("-", "");
  }

  private static Predicate<String> isGroupOf(String name, String separator) {
    return group -> name.equals(group) || name.startsWith(group + separator);
  }

  private boolean isNear(String name, Function<Setting, String> form) {
    return settings.stream().anyMatch(setting -> Spelling.edits(name, form.apply(setting)) <= 1);
  }

  /** Returns the setting whose full name is similar, or else whose last part is. */
  private Optional<Setting> nearest(String name, Function<Setting, String> form, char separator) {
    return nearest(name, form)
        .or(() -> nearest(last(name, separator), setting -> last(form.apply(setting), separator)));
  }

  private Optional<Setting> nearest(String name, Function<Setting, String> form) {
    return Spelling.closest(name, settings.stream().map(form).toList())
        .flatMap(near ->
            settings.stream().filter(setting -> form.apply(setting).equals(near)).findFirst());
  }

  private static String last(String name, char separator) {
    return name.substring(name.lastIndexOf(separator) + 1);
  }

  /**
   * Returns where a property is set, such as {@code application.yaml:12} or {@code system
   * property}.
   */
  private static String place(String property, EnumerablePropertySource<?> source) {
    if (OriginLookup.getOrigin(source, property) instanceof TextResourceOrigin origin) {
      var file = origin.getResource();
      var location = origin.getLocation();
      if (file != null && location != null) {
        return "%s:%d".formatted(path(file), location.getLine() + 1);
      }
    }
    if (source instanceof CommandLinePropertySource<?>) {
      return "command line";
    }
    return source.getName().equals(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME)
        ? "system property"
        : source.getName();
  }

  private static String path(Resource resource) {
    try {
      return resource.isFile() ? resource.getFile().getPath() : resource.getDescription();
    } catch (IOException e) {
      return resource.getDescription();
    }
  }

  private static String sentence(String name, String place, Optional<String> nearest) {
    return "Unknown setting %s (%s); %s"
        .formatted(
            name,
            place,
            nearest
                .map("did you mean %s?"::formatted)
                .orElse("docs/settings.md lists all settings."));
  }
}
