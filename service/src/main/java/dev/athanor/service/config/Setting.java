package dev.athanor.service.config;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName.Form;

/**
 * A setting of the service. The components of {@link AthanorProperties} and of the records inside
 * it define all settings.
 *
 * @param key its canonical key, such as {@code athanor.run.inline-bytes}; {@code *} matches any one
 *     name, as in {@code athanor.quota.tenants.*.max-bytes}
 * @param component the component that receives its value
 */
record Setting(String key, RecordComponent component) {

  /** The prefix of all keys. */
  static final String PREFIX = "athanor";

  private static final String ANY = "*";
  private static final Pattern CAPITAL = Pattern.compile("(?<=[a-z0-9])(?=[A-Z])");

  /** Returns all settings, in the order of their declaration. */
  static List<Setting> all() {
    var settings = new ArrayList<Setting>();
    collect(PREFIX, AthanorProperties.class, settings);
    return List.copyOf(settings);
  }

  private static void collect(String prefix, Class<?> group, List<Setting> settings) {
    for (var component : group.getRecordComponents()) {
      var key = prefix + "." + dashed(component.getName());
      var type = component.getType();
      if (type.isRecord()) {
        collect(key, type, settings);
      } else if (Map.class.isAssignableFrom(type)) {
        collect(key + "." + ANY, valueType(component.getGenericType()), settings);
      } else {
        settings.add(new Setting(key, component));
      }
    }
  }

  private static Class<?> valueType(Type map) {
    return (Class<?>) ((ParameterizedType) map).getActualTypeArguments()[1];
  }

  private static String dashed(String name) {
    return CAPITAL.matcher(name).replaceAll("-").toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the part of the key after the prefix and before the last period; empty if there is
   * none.
   */
  String group() {
    int end = key.lastIndexOf('.');
    return end == PREFIX.length() ? "" : key.substring(PREFIX.length() + 1, end);
  }

  /** Whether the setting is a list. */
  private boolean isList() {
    return Collection.class.isAssignableFrom(component.getType());
  }

  /** Whether a property with this name sets the setting, or one of its values. */
  boolean isNamed(ConfigurationPropertyName name) {
    int elements = name.getNumberOfElements();
    if (isList() && elements > 0 && name.isNumericIndex(elements - 1)) {
      elements--;
    }
    var own = key.split("\\.", -1);
    if (own.length != elements) {
      return false;
    }
    for (int i = 0; i < elements; i++) {
      if (!own[i].equals(ANY)
          && !own[i].replace("-", "").equals(name.getElement(i, Form.UNIFORM))) {
        return false;
      }
    }
    return true;
  }

  /** Whether an environment variable with this name sets the setting, or one of its values. */
  boolean isNamed(String variable) {
    return matches(variable, "") || matches(variable, "_");
  }

  /** Matches a variable; Spring Boot accepts hyphens of a key as underscores or omitted. */
  private boolean matches(String variable, String hyphen) {
    var pattern =
        key.toUpperCase(Locale.ROOT).replace("-", hyphen).replace('.', '_').replace(ANY, ".+");
    return variable.matches(pattern + (isList() ? "(_\\d+_?)?" : ""));
  }

  /** Returns the key for messages, such as {@code athanor.quota.tenants.TENANT.max-bytes}. */
  String text() {
    return key.replace(ANY, "TENANT");
  }

  /** Returns the environment variable of the setting. */
  String variable() {
    return text().toUpperCase(Locale.ROOT).replace("-", "").replace('.', '_');
  }
}
