package dev.athanor.service.config;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.io.IOException;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.util.unit.DataSize;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Checks that docs/settings.md matches the metadata of the settings, which an annotation processor
 * generates. -Dbless updates it.
 */
class SettingsDocumentTest {

  private static final Path DOCUMENT = Path.of("../docs/settings.md");
  private static final Path METADATA =
      Path.of("target/classes/META-INF/spring-configuration-metadata.json");
  private static final Path INTRODUCTION =
      Path.of("src/test/resources/dev/athanor/service/config/settings.md");

  private static final List<Setting> SETTINGS = Setting.all();

  /** Returns the metadata of properties that are not in maps, by key. */
  private static Map<String, JsonNode> metadata() throws IOException {
    var properties = new LinkedHashMap<String, JsonNode>();
    for (var each : JsonMapper.shared().readTree(Files.readString(METADATA)).get("properties")) {
      properties.put(each.get("name").asString(), each);
    }
    return properties;
  }

  @Test
  void documentListsAllSettings() throws IOException {
    var text = document();
    if (System.getProperty("bless") != null) {
      Files.writeString(DOCUMENT, text);
    }
    assertThat(text.lines().toList()).isEqualTo(Files.readString(DOCUMENT).lines().toList());
  }

  /** Editors use the metadata to complete and check configuration files. */
  @Test
  void metadataHasEverySetting() throws IOException {
    var expected = new TreeSet<String>();
    SETTINGS.forEach(setting -> expected.add(setting.key().replaceFirst("\\.\\*.*", "")));
    assertThat(metadata().keySet()).containsExactlyInAnyOrderElementsOf(expected);
  }

  /** Each description consists of sentences. */
  @Test
  void everySettingIsDescribed() throws IOException {
    var descriptions = descriptions();
    for (var setting : SETTINGS) {
      assertThat(descriptions.get(setting.key()))
          .as(setting.key())
          .isNotNull()
          .matches("[A-Z0-9].*\\.")
          .doesNotContain("@", "|", "  ");
    }
  }

  /**
   * Returns the descriptions by key. The metadata omits the values of maps, so their descriptions
   * are read from the source.
   */
  private static Map<String, String> descriptions() throws IOException {
    var metadata = metadata();
    var descriptions = new HashMap<String, String>();
    for (var setting : SETTINGS) {
      var property = metadata.get(setting.key());
      descriptions.put(
          setting.key(),
          property == null
              ? comment(setting.component())
              : property.path("description").asString(""));
    }
    return descriptions;
  }

  /** Returns the text of a component's {@code @param} tag in the source of its record. */
  private static String comment(RecordComponent component) throws IOException {
    var outermost = component.getDeclaringRecord().getNestHost();
    var source =
        Files.readString(Path.of("src/main/java", outermost.getName().replace('.', '/') + ".java"));
    int end =
        source.indexOf("record %s(".formatted(component.getDeclaringRecord().getSimpleName()));
    var comment =
        Pattern.compile(
                "@param %s (.+?)(?=\\n\\s*\\* @|\\s*\\*/)".formatted(component.getName()),
                Pattern.DOTALL)
            .matcher(source.substring(source.lastIndexOf("/**", end), end));
    assertThat(comment.find()).as("a description of %s", component).isTrue();
    return comment.group(1).replaceAll("\\s*\\n\\s*\\* *", " ");
  }

  private static String document() throws IOException {
    var descriptions = descriptions();
    var metadata = metadata();
    var groups = new LinkedHashMap<String, StringBuilder>();
    for (var setting : SETTINGS) {
      var rows = groups.computeIfAbsent(setting.group(), _ -> new StringBuilder());
      rows.append(
          "| `%s` | %s | %s | %s | %s |%n"
              .formatted(
                  setting.text(),
                  type(setting.component()),
                  defaultValue(metadata.get(setting.key())),
                  descriptions.get(setting.key()),
                  range(setting.component())));
    }
    var text = new StringBuilder(Files.readString(INTRODUCTION));
    groups.forEach((group, rows) ->
        text.append(
            "%n## %s%n%n| key | type | default | description | allowed |%n| --- | --- | --- | --- | --- |%n%s"
                .formatted(
                    group.isEmpty() ? "athanor" : "athanor." + group.replace("*", "TENANT"),
                    rows)));
    return text.toString();
  }

  private static String type(RecordComponent component) {
    var type = component.getType();
    if (type.isEnum()) {
      return "choice";
    }
    if (Collection.class.isAssignableFrom(type)) {
      return "list";
    }
    var names =
        Map.ofEntries(
            Map.entry(String.class, "text"),
            Map.entry(boolean.class, "boolean"),
            Map.entry(int.class, "integer"),
            Map.entry(Integer.class, "integer"),
            Map.entry(long.class, "integer"),
            Map.entry(Long.class, "integer"),
            Map.entry(double.class, "number"),
            Map.entry(Double.class, "number"),
            Map.entry(Duration.class, "duration"),
            Map.entry(DataSize.class, "data size"),
            Map.entry(Pattern.class, "regular expression"));
    return Objects.requireNonNull(names.get(type), type::getName);
  }

  private static String defaultValue(@Nullable JsonNode property) {
    if (property == null || !property.has("defaultValue")) {
      return "";
    }
    var value = property.get("defaultValue");
    if (value.isArray()) {
      return "`" + value.valueStream().map(JsonNode::asString).collect(joining(",")) + "`";
    }
    return value.asString().isEmpty() ? "" : "`" + value.asString() + "`";
  }

  /** Returns the allowed values, from the validation annotations. */
  private static String range(RecordComponent component) {
    if (component.getType().isEnum()) {
      return choices(component.getType());
    }
    if (component.getGenericType() instanceof ParameterizedType list
        && list.getActualTypeArguments()[0] instanceof Class<?> element
        && element.isEnum()) {
      return choices(element);
    }
    var min = bound(component, Min.class, DecimalMin.class);
    var max = bound(component, Max.class, DecimalMax.class);
    if (min != null || max != null) {
      return min == null ? "at most " + max : max == null ? "at least " + min : min + " to " + max;
    }
    var pattern = annotation(component, jakarta.validation.constraints.Pattern.class);
    if (pattern != null) {
      return pattern.message().replaceFirst("^must be ", "");
    }
    return annotation(component, NotBlank.class) == null ? "" : "not empty";
  }

  private static String choices(Class<?> type) {
    return Arrays.stream(type.getEnumConstants())
        .map(each ->
            each instanceof dev.athanor.service.security.Scope scope
                ? scope.text()
                : ((Enum<?>) each).name().toLowerCase(Locale.ROOT).replace('_', '-'))
        .collect(joining(", "));
  }

  private static @Nullable String bound(
      RecordComponent component,
      Class<? extends java.lang.annotation.Annotation> integral,
      Class<? extends java.lang.annotation.Annotation> decimal) {
    return Stream.of(integral, decimal)
        .map(type -> annotation(component, type))
        .filter(Objects::nonNull)
        .map(SettingsDocumentTest::value)
        .findFirst()
        .orElse(null);
  }

  private static String value(java.lang.annotation.Annotation bound) {
    return switch (bound) {
      case Min min -> Long.toString(min.value());
      case Max max -> Long.toString(max.value());
      case DecimalMin min -> min.value();
      case DecimalMax max -> max.value();
      default -> throw new IllegalArgumentException(bound.toString());
    };
  }

  /**
   * Returns a constraint annotation, which is on the accessor and the field but not on the
   * component.
   */
  private static <A extends java.lang.annotation.Annotation> @Nullable A annotation(
      RecordComponent component, Class<A> type) {
    AnnotatedElement accessor = component.getAccessor();
    return accessor.getAnnotation(type);
  }
}
