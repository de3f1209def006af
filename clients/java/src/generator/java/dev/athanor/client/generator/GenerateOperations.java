package dev.athanor.client.generator;

import static dev.athanor.client.generator.Descriptions.attributeText;
import static dev.athanor.client.generator.Descriptions.camel;
import static dev.athanor.client.generator.Descriptions.capital;
import static dev.athanor.client.generator.Descriptions.count;
import static dev.athanor.client.generator.Descriptions.countText;
import static dev.athanor.client.generator.Descriptions.dtypes;
import static dev.athanor.client.generator.Descriptions.html;
import static dev.athanor.client.generator.Descriptions.isList;
import static dev.athanor.client.generator.Descriptions.list;
import static dev.athanor.client.generator.Descriptions.name;
import static dev.athanor.client.generator.Descriptions.returnText;
import static dev.athanor.client.generator.Descriptions.tensorText;
import static dev.athanor.client.generator.Descriptions.type;
import static dev.athanor.client.generator.Types.CLIENT;
import static dev.athanor.client.generator.Types.PACKAGE;
import static dev.athanor.client.generator.Types.T;
import static dev.athanor.client.generator.Types.future;
import static dev.athanor.client.generator.Types.operandType;
import static dev.athanor.client.generator.Types.resultType;

import com.palantir.javapoet.ClassName;
import com.palantir.javapoet.CodeBlock;
import com.palantir.javapoet.FieldSpec;
import com.palantir.javapoet.JavaFile;
import com.palantir.javapoet.MethodSpec;
import com.palantir.javapoet.ParameterSpec;
import com.palantir.javapoet.ParameterizedTypeName;
import com.palantir.javapoet.TypeName;
import com.palantir.javapoet.TypeSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.lang.model.element.Modifier;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Writes the package dev.athanor.client.ops from ops.json: a method, an options class and, for
 * several outputs, a result record per operation; an enum per choice.
 */
final class GenerateOperations {

  private static final ClassName CONSUMER = ClassName.get("java.util.function", "Consumer");
  private static final ClassName FUNCTION = ClassName.get("java.util.function", "Function");
  private static final ClassName NULLABLE = ClassName.get("org.jspecify.annotations", "Nullable");
  private static final ClassName ASYNC = ClassName.get(PACKAGE, "AsyncOperations");

  private final Path folder;
  private final Types types = new Types();

  private GenerateOperations(Path folder) {
    this.folder = folder;
  }

  /** Generates into the folder of the first argument, from the catalogue of the second, if any. */
  public static void main(String[] arguments) throws IOException {
    try (var in =
        arguments.length > 1
            ? Files.newInputStream(Path.of(arguments[1]))
            : ClassLoader.getSystemResourceAsStream("ops.json")) {
      new GenerateOperations(Path.of(arguments[0])).write(new JsonMapper().readTree(in));
    }
  }

  private void write(JsonNode catalogue) throws IOException {
    var async = operations("AsyncOperations", "Operations without blocking.", "OpRunner");
    async.addMethod(
        MethodSpec.constructorBuilder()
            .addModifiers(Modifier.PUBLIC)
            .addJavadoc("Runs calls by this function.")
            .addParameter(
                ParameterizedTypeName.get(
                    FUNCTION, ClassName.get(CLIENT, "OpCall"), future(outputs())),
                "runner")
            .addStatement("super(runner)")
            .build());
    var blocking = operations("Operations", "Operations that wait for their results.", "OpAwaiter");
    var asyncOfT = ParameterizedTypeName.get(ASYNC, T);
    blocking
        .addField(FieldSpec.builder(asyncOfT, "async", Modifier.PRIVATE, Modifier.FINAL).build())
        .addMethod(
            MethodSpec.constructorBuilder()
                .addModifiers(Modifier.PUBLIC)
                .addJavadoc("Waits for the results of these operations.")
                .addParameter(asyncOfT, "async")
                .addStatement("super(async)")
                .addStatement("this.async = async")
                .build())
        .addMethod(
            MethodSpec.methodBuilder("async")
                .addModifiers(Modifier.PUBLIC)
                .addJavadoc("Returns the same operations without blocking.")
                .returns(asyncOfT)
                .addStatement("return async")
                .build());
    for (var op : catalogue.path("ops")) {
      save(new OptionsClass(types).of(op));
      if (op.path("outputs").size() > 1) {
        save(result(op));
      }

      async.addMethod(shortMethod(op, true)).addMethod(method(op, true));
      blocking.addMethod(shortMethod(op, false)).addMethod(method(op, false));
    }
    save(async.build());
    save(blocking.build());
    for (var choice : types.enumerations()) {
      save(choice);
    }
    Files.writeString(
        folder.resolve(PACKAGE.replace('.', '/')).resolve("package-info.java"),
        """
        /** The operations of the service, generated from its descriptions of them. */
        @NullMarked
        package %s;

        import org.jspecify.annotations.NullMarked;
        """
            .formatted(PACKAGE));
  }

  private void save(TypeSpec type) throws IOException {
    JavaFile.builder(PACKAGE, type).skipJavaLangImports(true).indent("  ").build().writeTo(folder);
  }

  private static TypeSpec.Builder operations(String name, String summary, String parent) {
    return TypeSpec.classBuilder(name)
        .addModifiers(Modifier.PUBLIC)
        .addTypeVariable(T)
        .superclass(ParameterizedTypeName.get(ClassName.get(CLIENT, parent), T))
        .addJavadoc("$L\n\n@param <T> the type of a result\n", summary);
  }

  /** The method with required inputs alone. */
  private MethodSpec shortMethod(JsonNode op, boolean async) {
    var names = parameters(op).stream().map(ParameterSpec::name).collect(Collectors.joining(", "));
    return signature(op, async)
        .addJavadoc("@return $L\n", returnText(op))
        .addStatement("return $L($L, options -> {})", camel(op), names)
        .build();
  }

  private MethodSpec method(JsonNode op, boolean async) {
    var options = ClassName.get(PACKAGE, type(op, "Options"));
    var method =
        signature(op, async)
            .addParameter(ParameterizedTypeName.get(CONSUMER, options), "options")
            .addJavadoc(
                "@param options sets optional inputs and attributes\n@return $L\n", returnText(op));
    if (!async) {
      var names = parameters(op).stream().map(p -> p.name() + ", ").collect(Collectors.joining());
      return method.addStatement("return await(async.$L($Loptions))", camel(op), names).build();
    }
    method.addStatement("var chosen = new $T()", options).addStatement("options.accept(chosen)");
    var call = CodeBlock.builder().add("var call = chosen.call()");
    for (var input : list(op, "inputs")) {
      if (!input.path("optional").asBoolean()) {
        call.add(".input($1S, $1L)", name(input));
      }
    }
    for (var attribute : required(op)) {
      call.add(".attribute($1S, $1L)", name(attribute));
    }
    for (var output : list(op, "outputs")) {
      if (!output.path("optional").asBoolean()) {
        call.add(output(output));
      }
    }
    method.addStatement(call.build());
    for (var output : list(op, "outputs")) {
      if (output.path("optional").asBoolean()) {
        method
            .beginControlFlow("if (chosen.computes$L())", capital(name(output)))
            .addStatement(CodeBlock.of("call").toBuilder().add(output(output)).build())
            .endControlFlow();
      }
    }
    return method.addStatement("return run(call, outputs -> $L)", conversion(op)).build();
  }

  /** The request of an output, or of the outputs of a list. */
  private static CodeBlock output(JsonNode output) {
    return isList(output)
        ? CodeBlock.of(".output($S, $L)", name(output), count(output))
        : CodeBlock.of(".output($S)", name(output));
  }

  /** From the outputs by name to the result. */
  private static CodeBlock conversion(JsonNode op) {
    var values =
        list(op, "outputs").stream()
            .map(output ->
                isList(output)
                    ? CodeBlock.of("outputs(outputs, $S, $L)", name(output), count(output))
                    : output.path("optional").asBoolean()
                        ? CodeBlock.of("outputs.get($S)", name(output))
                        : CodeBlock.of("output(outputs, $S)", name(output)))
            .toList();
    return values.size() == 1
        ? values.getFirst()
        : CodeBlock.of("new $L<>($L)", type(op, "Result"), CodeBlock.join(values, ", "));
  }

  private MethodSpec.Builder signature(JsonNode op, boolean async) {
    var result = resultType(list(op, "outputs").getFirst());
    if (op.path("outputs").size() > 1) {
      result = ParameterizedTypeName.get(ClassName.get(PACKAGE, type(op, "Result")), T);
    }
    var method =
        MethodSpec.methodBuilder(camel(op))
            .addModifiers(Modifier.PUBLIC, Modifier.FINAL)
            .returns(async ? future(result) : result)
            .addJavadoc(
                "$L\n\n<p>Formula: <code>$L</code>\n\n",
                html(op.path("summary").asString()),
                html(op.path("formula").asString()));
    parameters(op).forEach(method::addParameter);
    for (var input : list(op, "inputs")) {
      if (!input.path("optional").asBoolean()) {
        method.addJavadoc("@param $L $L\n", name(input), tensorText(input, dtypes(input)));
      }
    }
    for (var attribute : required(op)) {
      method.addJavadoc("@param $L $L\n", name(attribute), attributeText(attribute));
    }
    for (var output : lists(op)) {
      method.addJavadoc("@param $L $L\n", count(output), countText(output));
    }
    return method;
  }

  private List<ParameterSpec> parameters(JsonNode op) {
    var parameters = new ArrayList<ParameterSpec>();
    for (var input : list(op, "inputs")) {
      if (!input.path("optional").asBoolean()) {
        parameters.add(ParameterSpec.builder(operandType(input), name(input)).build());
      }
    }
    for (var attribute : required(op)) {
      parameters.add(ParameterSpec.builder(types.attribute(attribute), name(attribute)).build());
    }
    for (var output : lists(op)) {
      parameters.add(ParameterSpec.builder(TypeName.INT, count(output)).build());
    }
    return parameters;
  }

  /** The lists of outputs. */
  private static List<JsonNode> lists(JsonNode op) {
    return list(op, "outputs").stream().filter(Descriptions::isList).toList();
  }

  private static List<JsonNode> required(JsonNode op) {
    return list(op, "attributes").stream().filter(a -> a.path("required").asBoolean()).toList();
  }

  private static TypeSpec result(JsonNode op) {
    var components = MethodSpec.constructorBuilder();
    var type =
        TypeSpec.recordBuilder(type(op, "Result"))
            .addModifiers(Modifier.PUBLIC)
            .addTypeVariable(T)
            .addJavadoc("Outputs of {@code $L}.\n\n@param <T> the type of a result\n", name(op));
    for (var output : list(op, "outputs")) {
      boolean optional = output.path("optional").asBoolean();
      type.addJavadoc(
          "@param $L $L$L\n",
          name(output),
          tensorText(output, output.path("dtype").asString()),
          optional ? "; null if not computed" : "");
      var component = ParameterSpec.builder(resultType(output), name(output));
      if (optional) {
        component.addAnnotation(NULLABLE);
      }
      components.addParameter(component.build());
    }
    return type.recordConstructor(components.build()).build();
  }

  private static ParameterizedTypeName outputs() {
    return ParameterizedTypeName.get(ClassName.get(Map.class), ClassName.get(String.class), T);
  }
}
