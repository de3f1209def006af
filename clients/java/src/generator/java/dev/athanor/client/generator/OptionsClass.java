package dev.athanor.client.generator;

import static dev.athanor.client.generator.Descriptions.attributeText;
import static dev.athanor.client.generator.Descriptions.capital;
import static dev.athanor.client.generator.Descriptions.dtypes;
import static dev.athanor.client.generator.Descriptions.isList;
import static dev.athanor.client.generator.Descriptions.list;
import static dev.athanor.client.generator.Descriptions.name;
import static dev.athanor.client.generator.Descriptions.tensorText;
import static dev.athanor.client.generator.Descriptions.type;
import static dev.athanor.client.generator.Types.CLIENT;
import static dev.athanor.client.generator.Types.LIST;
import static dev.athanor.client.generator.Types.PACKAGE;
import static dev.athanor.client.generator.Types.TENSOR;
import static dev.athanor.client.generator.Types.operandType;

import com.palantir.javapoet.ArrayTypeName;
import com.palantir.javapoet.ClassName;
import com.palantir.javapoet.CodeBlock;
import com.palantir.javapoet.MethodSpec;
import com.palantir.javapoet.ParameterizedTypeName;
import com.palantir.javapoet.TypeName;
import com.palantir.javapoet.TypeSpec;
import javax.lang.model.element.Modifier;
import tools.jackson.databind.JsonNode;

/** The options class of an operation. */
final class OptionsClass {

  private static final ClassName OPTIONS = ClassName.get(CLIENT, "OpOptions");

  private final Types types;

  OptionsClass(Types types) {
    this.types = types;
  }

  /** Returns the options of an operation. */
  TypeSpec of(JsonNode op) {
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
            setter(self, name(input), operandType(input), name(input))
                .addJavadoc("Sets an input: $L\n", tensorText(input, dtypes(input)))
                .addStatement("call().input($1S, $1L)", name(input))
                .addStatement("return this")
                .build());
      }
    }
    for (var attribute : list(op, "attributes")) {
      if (!attribute.path("required").asBoolean()) {
        type.addMethod(
            attributeSetter(self, attribute)
                .addJavadoc("Sets an attribute: $L\n", attributeText(attribute))
                .addStatement("call().attribute($S, value)", name(attribute))
                .addStatement("return this")
                .build());
      }
    }
    for (var output : list(op, "outputs")) {
      type.addMethod(
          target(self, output)
              .addStatement(
                  "call().into($1S, $2N)", name(output), isList(output) ? "tensors" : "tensor")
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

  /** Returns a setter of an attribute; a list is a variable number of arguments. */
  private MethodSpec.Builder attributeSetter(ClassName self, JsonNode attribute) {
    return switch (attribute.path("type").asString()) {
      case "integers" ->
          setter(self, name(attribute), ArrayTypeName.of(TypeName.LONG), "value").varargs();
      case "numbers" ->
          setter(self, name(attribute), ArrayTypeName.of(TypeName.DOUBLE), "value").varargs();
      default -> setter(self, name(attribute), types.attribute(attribute), "value");
    };
  }

  /** Returns a setter of the tensor that receives an output, or of those of a list. */
  private static MethodSpec.Builder target(ClassName self, JsonNode output) {
    var name = "into" + capital(name(output));
    return isList(output)
        ? setter(self, name, ParameterizedTypeName.get(LIST, TENSOR), "tensors")
            .addJavadoc(
                "Writes the outputs {@code $L} into tensors of their dtypes and shapes, in order.\n",
                name(output))
        : setter(self, name, TENSOR, "tensor")
            .addJavadoc(
                "Writes output {@code $L} into a tensor of its dtype and shape.\n", name(output));
  }

  private static MethodSpec.Builder setter(
      ClassName self, String name, TypeName type, String parameter) {
    return MethodSpec.methodBuilder(name)
        .addModifiers(Modifier.PUBLIC)
        .returns(self)
        .addParameter(type, parameter);
  }

  /** Returns whether an attribute, given or by default, has a value. */
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
}
