package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.AttributeType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares the error texts of invalid calls with the recorded ones, so that each change of a text
 * is reviewed. The calls are the quick cases of the ops, each with one fault in an input or an
 * attribute. -Dbless records the current texts.
 */
class ErrorTextsTest {

  private static final Path FOLDER = Path.of("src/test/resources/error-texts");

  private static final long LONG_EXTENT = 1L << 40;

  static List<String> ops() {
    return Catalogue.load().all().stream().map(op -> op.description().name()).toList();
  }

  @ParameterizedTest
  @MethodSource("ops")
  void textsAreUnchanged(String name) throws IOException {
    var errors = new ErrorTexts(Catalogue.load().find(name).orElseThrow());
    for (var valid : errors.op.cases(new SplittableRandom(1), true)) {
      errors.tryFaults(new TreeMap<>(HostTensor.types(valid.inputs())), valid.attributes());
    }
    var file = FOLDER.resolve(name + ".txt");
    if (System.getProperty("bless") != null) {
      Files.createDirectories(FOLDER);
      Files.write(file, errors.lines());
    }
    assertThat(errors.lines()).isEqualTo(Files.readAllLines(file)).isNotEmpty();
  }

  /** The error texts of an op, one for each set of texts that differ only in numbers and dtypes. */
  private static final class ErrorTexts {
    private final Op op;
    private final Map<String, String> texts = new TreeMap<>();

    ErrorTexts(Op op) {
      this.op = op;
    }

    List<String> lines() {
      return List.copyOf(texts.values());
    }

    void tryFaults(Map<String, TensorType> inputs, Attributes attributes) {
      inputs.forEach((name, type) -> {
        attempt(with(inputs, name, null), attributes.values());
        for (var faulty : faults(type)) {
          attempt(with(inputs, name, faulty), attributes.values());
        }
      });
      for (var attribute : op.description().attributes()) {
        attempt(inputs, with(attributes.values(), attribute.name(), null));
        for (var value : values(attribute)) {
          attempt(inputs, with(attributes.values(), attribute.name(), value));
        }
      }
    }

    private static <T> Map<String, T> with(Map<String, T> map, String name, @Nullable T value) {
      var changed = new LinkedHashMap<>(map);
      changed.compute(name, (_, _) -> value);
      return changed;
    }

    private static List<TensorType> faults(TensorType type) {
      return Stream.concat(
              Stream.of(DType.values())
                  .filter(dtype -> !dtype.isBlock())
                  .map(dtype -> new TensorType(dtype, type.shape())),
              shapes(type.shape()).stream()
                  .filter(shape ->
                      !type.dtype().isBlock() || (shape.rank() > 0 && shape.extent(-1) % 256 == 0))
                  .map(shape -> new TensorType(type.dtype(), shape)))
          .toList();
    }

    private static List<Shape> shapes(Shape shape) {
      var all = new ArrayList<Shape>();
      all.add(Shape.of());
      var extents = shape.extents();
      all.add(new Shape(extents.stream().map(extent -> extent << 20).toList()));
      all.add(new Shape(Stream.concat(Stream.of(2L), extents.stream()).toList()));
      for (int i = 0; i < extents.size(); i++) {
        for (long extent : new long[] {-1, extents.get(i) + 1, 2 * extents.get(i), LONG_EXTENT}) {
          var changed = new ArrayList<>(extents);
          changed.set(i, extent);
          all.add(new Shape(changed));
        }
        var fewer = new ArrayList<>(extents);
        fewer.remove(i);
        all.add(new Shape(fewer));
      }
      return all;
    }

    private static List<?> values(Attribute attribute) {
      return attribute.type() == AttributeType.CHOICE
          ? Stream.concat(attribute.choices().stream(), Stream.of("other")).toList()
          : attribute.type() == AttributeType.BOOLEAN
              ? List.of(true, false, "yes")
              : List.of(-LONG_EXTENT, -7, -1, -0.5, 0, 0.5, 1, 3, LONG_EXTENT, "one");
    }

    private void attempt(Map<String, TensorType> inputs, Map<String, ?> given) {
      try {
        Catalogue.checkInputs(op.description(), inputs);
        op.plans(inputs, Attributes.of(op.description(), given), TestDevices.H200);
      } catch (OpException e) {
        var line = "%s %s: %s".formatted(e.getClass().getSimpleName(), e.field(), e.getMessage());
        texts.putIfAbsent(kind(line), line);
      }
    }

    private static String kind(String line) {
      return line.replaceAll("\\[[-0-9, ]*]", "[]")
          .replaceAll("\\b(u8|i8|i32|i64|bool|f16|bf16|f32|f64|e4m3|e5m2)\\b", "dtype")
          .replaceAll("-?[0-9][0-9.E]*", "0");
    }
  }
}
