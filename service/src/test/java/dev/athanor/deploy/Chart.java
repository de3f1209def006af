package dev.athanor.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import com.marcnuri.helm.Helm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.springframework.util.FileSystemUtils;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/**
 * The chart in {@code helm/athanor}, rendered by Helm itself as release {@code kiln} in {@code
 * lab}.
 */
final class Chart {

  static final Path FOLDER = Path.of("../helm/athanor").toAbsolutePath().normalize();

  /**
   * The oldest version that Chart.yaml allows. By default, offline Helm assumes its own version.
   */
  private static final String OLDEST_KUBERNETES = "1.28.0";

  private static final String NAME = "kiln-athanor";

  private Chart() {}

  /**
   * Renders the chart.
   *
   * @param values YAML that is merged with the chart's own values
   * @return the objects by kind; if a kind has several objects, those not named after the release
   *     have the key {@code Kind/name}
   * @throws IllegalStateException with Helm's message if the chart rejects the values
   */
  static Map<String, Object> render(String values) throws IOException {
    return objects(
        with(
            values,
            file ->
                new Helm(FOLDER)
                    .template()
                    .withName("kiln")
                    .withNamespace("lab")
                    .withKubeVersion(OLDEST_KUBERNETES)
                    .withValuesFile(file)
                    .call()));
  }

  /** Returns the notes that {@code helm install} prints. */
  static String notes(String values) throws IOException {
    String output =
        with(
            values,
            file ->
                new Helm(FOLDER)
                    .install()
                    .withName("kiln")
                    .withNamespace("lab")
                    .withKubeVersion(OLDEST_KUBERNETES)
                    .withValuesFile(file)
                    .clientOnly()
                    .dryRun()
                    .call()
                    .getOutput());
    return output.substring(output.indexOf("NOTES:\n") + 7);
  }

  /** Returns the pod of {@code helm test}, which {@link #render} omits. */
  static Object testPod(String values) throws IOException {
    Path copy = Files.createTempDirectory("chart");
    try {
      FileSystemUtils.copyRecursively(FOLDER, copy);
      Path pod = copy.resolve("templates/tests/product.yaml");
      Files.writeString(pod, Files.readString(pod).replace("helm.sh/hook:", "hook:"));
      return with(
          values,
          file ->
              at(
                  objects(
                      new Helm(copy)
                          .template()
                          .withName("kiln")
                          .withNamespace("lab")
                          .withKubeVersion(OLDEST_KUBERNETES)
                          .withValuesFile(file)
                          .call()),
                  "Pod"));
    } finally {
      FileSystemUtils.deleteRecursively(copy);
    }
  }

  private static <T> T with(String values, Function<Path, T> work) throws IOException {
    Path file = Files.createTempFile("values", ".yaml");
    try {
      Files.writeString(file, values);
      return work.apply(file);
    } finally {
      Files.delete(file);
    }
  }

  private static Map<String, Object> objects(String rendered) {
    Map<String, List<Object>> kinds = new LinkedHashMap<>();
    for (Object object : yaml().loadAll(rendered)) {
      if (object != null) {
        kinds.computeIfAbsent(text(object, "kind"), _ -> new ArrayList<>()).add(object);
      }
    }
    Map<String, Object> objects = new LinkedHashMap<>();
    kinds.forEach((kind, all) -> {
      for (Object object : all) {
        String name = text(object, "metadata", "name");
        String key = all.size() == 1 || name.equals(NAME) ? kind : kind + "/" + name;
        assertThat(objects.put(key, object)).as("a second " + key).isNull();
      }
    });
    return objects;
  }

  static Yaml yaml() {
    return new Yaml(new SafeConstructor(new LoaderOptions()));
  }

  /** Returns the value at a path of map keys and list indices. */
  static Object at(Object object, String... path) {
    Object here = object;
    for (String step : path) {
      Object below =
          switch (here) {
            case Map<?, ?> map -> map.get(step);
            case List<?> list -> list.get(Integer.parseInt(step));
            default -> null;
          };
      here = Objects.requireNonNull(below, () -> "no " + step + " of " + String.join(".", path));
    }
    return here;
  }

  static String text(Object object, String... path) {
    return (String) at(object, path);
  }

  static List<?> list(Object object, String... path) {
    return (List<?>) at(object, path);
  }

  static Map<?, ?> pod(Map<String, Object> objects) {
    return (Map<?, ?>) at(objects, "StatefulSet", "spec", "template", "spec");
  }

  static Map<?, ?> container(Map<String, Object> objects) {
    return (Map<?, ?>) at(pod(objects), "containers", "0");
  }

  /** Returns the environment of the container: the value or {@code valueFrom} of each variable. */
  static Map<Object, Object> env(Map<String, Object> objects) {
    Map<Object, Object> env = new LinkedHashMap<>();
    for (Object variable : list(container(objects), "env")) {
      var value = ((Map<?, ?>) variable).get("value");
      env.put(at(variable, "name"), value == null ? at(variable, "valueFrom") : value);
    }
    return env;
  }
}
