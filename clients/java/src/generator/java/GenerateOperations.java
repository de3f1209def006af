import com.palantir.javapoet.ClassName;
import com.palantir.javapoet.CodeBlock;
import com.palantir.javapoet.FieldSpec;
import com.palantir.javapoet.JavaFile;
import com.palantir.javapoet.MethodSpec;
import com.palantir.javapoet.ParameterSpec;
import com.palantir.javapoet.ParameterizedTypeName;
import com.palantir.javapoet.TypeName;
import com.palantir.javapoet.TypeSpec;
import com.palantir.javapoet.TypeVariableName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import javax.lang.model.element.Modifier;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Writes the package dev.athanor.client.ops from ops.json: a method, an options class and, for
 * several outputs, a result record per operation; an enum per choice.
 */
final class GenerateOperations {

  private static final String CLIENT = "dev.athanor.client";
  private static final String PACKAGE = CLIENT + ".ops";
  private static final ClassName OPERAND = ClassName.get(CLIENT, "Operand");
  private static final ClassName TENSOR = ClassName.get(CLIENT, "Tensor");
  private static final ClassName DTYPE = ClassName.get(CLIENT, "DType");
  private static final ClassName OPTIONS = ClassName.get(CLIENT, "OpOptions");
  private static final ClassName CONSUMER = ClassName.get("java.util.function", "Consumer");
  private static final ClassName FUNCTION = ClassName.get("java.util.function", "Function");
  private static final ClassName FUTURE =
      ClassName.get("java.util.concurrent", "CompletableFuture");
  private static final ClassName NULLABLE = ClassName.get("org.jspecify.annotations", "Nullable");
  private static final ClassName ASYNC = ClassName.get(PACKAGE, "AsyncOperations");
  private static final TypeVariableName T = TypeVariableName.get("T");

  private final Path folder;
  private final Map<String, Set<String>> choices = new LinkedHashMap<>();

  private GenerateOperations(Path folder) {
    this.folder = folder;
  }

  public static void main(String[] arguments) throws IOException {
    try (var in = ClassLoader.getSystemResourceAsStream("ops.json")) {
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
      save(options(op));
      if (op.path("outputs").size() > 1) {
        save(result(op));
      }

      async.addMethod(shortMethod(op, true)).addMethod(method(op, true));
      blocking.addMethod(shortMethod(op, false)).addMethod(method(op, false));
    }
    save(async.build());
    save(blocking.build());
    for (var choice : choices.entrySet()) {
      save(enumeration(choice.getKey(), choice.getValue()));
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
        call.add(".output($S)", name(output));
      }
    }
    method.addStatement(call.build());
    for (var output : list(op, "outputs")) {
      if (output.path("optional").asBoolean()) {
        method
            .beginControlFlow("if (chosen.computes$L())", capital(name(output)))
            .addStatement("call.output($S)", name(output))
            .endControlFlow();
      }
    }
    return method.addStatement("return run(call, outputs -> $L)", conversion(op)).build();
  }

  /** From the outputs by name to the result. */
  private static CodeBlock conversion(JsonNode op) {
    var values =
        list(op, "outputs").stream()
            .map(output ->
                output.path("optional").asBoolean()
                    ? CodeBlock.of("outputs.get($S)", name(output))
                    : CodeBlock.of("output(outputs, $S)", name(output)))
            .toList();
    return values.size() == 1
        ? values.getFirst()
        : CodeBlock.of("new $L<>($L)", type(op, "Result"), CodeBlock.join(values, ", "));
  }

  private MethodSpec.Builder signature(JsonNode op, boolean async) {
    TypeName result = T;
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
    return method;
  }

  private List<ParameterSpec> parameters(JsonNode op) {
    var parameters = new ArrayList<ParameterSpec>();
    for (var input : list(op, "inputs")) {
      if (!input.path("optional").asBoolean()) {
        parameters.add(ParameterSpec.builder(OPERAND, name(input)).build());
      }
    }
    for (var attribute : required(op)) {
      parameters.add(ParameterSpec.builder(attributeType(attribute), name(attribute)).build());
    }
    return parameters;
  }

  private static List<JsonNode> required(JsonNode op) {
    return list(op, "attributes").stream().filter(a -> a.path("required").asBoolean()).toList();
  }

  private TypeSpec options(JsonNode op) {
    var self = ClassName.get(PACKAGE, type(op, "Options"));
    var type =
        TypeSpec.classBuilder(self)
            .addModifiers(Modifier.PUBLIC, Modifier.FINAL)
            .superclass(ParameterizedTypeName.get(OPTIONS, self))
            .addJavadoc("Options of {@code $L}.", name(op))
            .addMethod(MethodSpec.constructorBuilder().addStatement("super($S)", name(op)).build())
            .addMethod(
                MethodSpec.methodBuilder("self")
                    .addAnnotation(Override.class)
                    .addModifiers(Modifier.PROTECTED)
                    .returns(self)
                    .addStatement("return this")
                    .build());
    for (var input : list(op, "inputs")) {
      if (input.path("optional").asBoolean()) {
        type.addMethod(
            setter(self, name(input), OPERAND, name(input))
                .addJavadoc("Sets an input: $L\n", tensorText(input, dtypes(input)))
                .addStatement("call().input($1S, $1L)", name(input))
                .addStatement("return this")
                .build());
      }
    }
    for (var attribute : list(op, "attributes")) {
      if (!attribute.path("required").asBoolean()) {
        type.addMethod(
            setter(self, name(attribute), attributeType(attribute), "value")
                .addJavadoc("Sets an attribute: $L\n", attributeText(attribute))
                .addStatement("call().attribute($S, value)", name(attribute))
                .addStatement("return this")
                .build());
      }
    }
    for (var output : list(op, "outputs")) {
      type.addMethod(
          setter(self, "into" + capital(name(output)), TENSOR, "tensor")
              .addJavadoc(
                  "Writes output {@code $L} into a tensor of its dtype and shape.\n", name(output))
              .addStatement("call().into($S, tensor)", name(output))
              .addStatement("return this")
              .build());
      if (output.path("optional").asBoolean()) {
        type.addMethod(
            MethodSpec.methodBuilder("computes" + capital(name(output)))
                .returns(TypeName.BOOLEAN)
                .addStatement("return $L", condition(op, output.path("when")))
                .build());
      }
    }
    return type.build();
  }

  private static MethodSpec.Builder setter(
      ClassName self, String name, TypeName type, String parameter) {
    return MethodSpec.methodBuilder(name)
        .addModifiers(Modifier.PUBLIC)
        .returns(self)
        .addParameter(type, parameter);
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
      var component = ParameterSpec.builder(T, name(output));
      if (optional) {
        component.addAnnotation(NULLABLE);
      }
      components.addParameter(component.build());
    }
    return type.recordConstructor(components.build()).build();
  }

  private static TypeSpec enumeration(String name, Set<String> values) {
    var text = FieldSpec.builder(String.class, "text", Modifier.PRIVATE, Modifier.FINAL).build();
    var type =
        TypeSpec.enumBuilder(name)
            .addModifiers(Modifier.PUBLIC)
            .addSuperinterface(ClassName.get(CLIENT, "Choice"))
            .addJavadoc(
                "Values of attribute {@code $L}; not every operation takes all.\n", lower(name))
            .addField(text)
            .addMethod(
                MethodSpec.constructorBuilder()
                    .addParameter(String.class, "text")
                    .addStatement("this.text = text")
                    .build())
            .addMethod(
                MethodSpec.methodBuilder("text")
                    .addAnnotation(Override.class)
                    .addModifiers(Modifier.PUBLIC)
                    .returns(String.class)
                    .addStatement("return text")
                    .build());
    for (var value : values) {
      type.addEnumConstant(constant(value), TypeSpec.anonymousClassBuilder("$S", value).build());
    }
    return type.build();
  }

  private TypeName attributeType(JsonNode attribute) {
    return switch (attribute.path("type").asString()) {
      case "boolean" -> TypeName.BOOLEAN;
      case "integer" -> TypeName.LONG;
      case "number" -> TypeName.DOUBLE;
      default -> choiceType(attribute);
    };
  }

  /** Returns the type of a choice: DType for dtypes, else an enum shared by all of one name. */
  private TypeName choiceType(JsonNode attribute) {
    var values =
        list(attribute, "choices").stream()
            .map(JsonNode::asString)
            .collect(Collectors.toCollection(LinkedHashSet::new));
    if (values.contains("f32") || values.contains("i32")) {
      return DTYPE;
    }
    var name = capital(name(attribute));
    choices.computeIfAbsent(name, unseen -> new LinkedHashSet<>()).addAll(values);
    return ClassName.get(PACKAGE, name);
  }

  private static String tensorText(JsonNode tensor, String dtypes) {
    return html(
        "%s. Shape %s, dtype %s"
            .formatted(tensor.path("meaning").asString(), tensor.path("shape").asString(), dtypes));
  }

  private static String dtypes(JsonNode input) {
    return list(input, "dtypes").stream().map(JsonNode::asString).collect(Collectors.joining(", "));
  }

  private static String attributeText(JsonNode attribute) {
    var text = new StringBuilder(attribute.path("meaning").asString());
    if (!attribute.path("default").isNull()) {
      text.append(". Default: ").append(attribute.path("default").asString());
    }
    if (attribute.has("minimum") || attribute.has("maximum")) {
      text.append(". Bounds: ")
          .append(attribute.path("minimum").asString("-∞"))
          .append(" to ")
          .append(attribute.path("maximum").asString("∞"));
    }
    if (attribute.has("choices")) {
      text.append(". One of ")
          .append(
              list(attribute, "choices").stream()
                  .map(JsonNode::asString)
                  .collect(Collectors.joining(", ")));
    }
    return html(text.toString());
  }

  private static String returnText(JsonNode op) {
    var outputs = list(op, "outputs");
    return outputs.size() > 1
        ? "the outputs " + outputs.stream().map(o -> name(o)).collect(Collectors.joining(", "))
        : tensorText(outputs.getFirst(), outputs.getFirst().path("dtype").asString());
  }

  private static ParameterizedTypeName outputs() {
    return ParameterizedTypeName.get(ClassName.get(Map.class), ClassName.get(String.class), T);
  }

  private static ParameterizedTypeName future(TypeName result) {
    return ParameterizedTypeName.get(FUTURE, result);
  }

  private static List<JsonNode> list(JsonNode node, String member) {
    return StreamSupport.stream(node.path(member).spliterator(), false).toList();
  }

  private static String name(JsonNode node) {
    return node.path("name").asString();
  }

  /** Whether an attribute, given or by default, has a value. */
  private static CodeBlock condition(JsonNode op, JsonNode when) {
    var attribute =
        list(op, "attributes").stream()
            .filter(each -> name(each).equals(when.path("attribute").asString()))
            .findFirst()
            .orElseThrow();
    return CodeBlock.of(
        "attribute($S, $L).equals($L)",
        name(attribute),
        literal(attribute.path("default")),
        literal(when.path("value")));
  }

  private static CodeBlock literal(JsonNode value) {
    return value.isString() ? CodeBlock.of("$S", value.asString()) : CodeBlock.of("$L", value);
  }

  private static String type(JsonNode op, String suffix) {
    return Stream.of(name(op).split("-"))
            .map(GenerateOperations::capital)
            .collect(Collectors.joining())
        + suffix;
  }

  private static String camel(JsonNode op) {
    return lower(type(op, ""));
  }

  private static String capital(String name) {
    return name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1);
  }

  private static String lower(String name) {
    return name.substring(0, 1).toLowerCase(Locale.ROOT) + name.substring(1);
  }

  private static String constant(String value) {
    return value.toUpperCase(Locale.ROOT).replace('-', '_');
  }

  private static String html(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("@", "&#64;")
        .replace("*/", "*&#47;");
  }
}
