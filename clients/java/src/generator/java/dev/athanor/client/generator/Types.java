package dev.athanor.client.generator;

import static dev.athanor.client.generator.Descriptions.capital;
import static dev.athanor.client.generator.Descriptions.constant;
import static dev.athanor.client.generator.Descriptions.isList;
import static dev.athanor.client.generator.Descriptions.list;
import static dev.athanor.client.generator.Descriptions.lower;
import static dev.athanor.client.generator.Descriptions.name;

import com.palantir.javapoet.ClassName;
import com.palantir.javapoet.FieldSpec;
import com.palantir.javapoet.MethodSpec;
import com.palantir.javapoet.ParameterizedTypeName;
import com.palantir.javapoet.TypeName;
import com.palantir.javapoet.TypeSpec;
import com.palantir.javapoet.TypeVariableName;
import com.palantir.javapoet.WildcardTypeName;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import javax.lang.model.element.Modifier;
import tools.jackson.databind.JsonNode;

/** The Java types of attributes, inputs and outputs. */
final class Types {

  static final String CLIENT = "dev.athanor.client";
  static final String PACKAGE = CLIENT + ".ops";
  static final ClassName OPERAND = ClassName.get(CLIENT, "Operand");
  static final ClassName TENSOR = ClassName.get(CLIENT, "Tensor");
  static final ClassName LIST = ClassName.get(List.class);
  static final TypeVariableName T = TypeVariableName.get("T");

  private static final ClassName DTYPE = ClassName.get(CLIENT, "DType");

  /** Every choice of dtypes has one of these. */
  private static final Set<String> COMMON_DTYPES = Set.of("f32", "i32", "e4m3", "q8_0");

  private static final ClassName FUTURE =
      ClassName.get("java.util.concurrent", "CompletableFuture");

  private final Map<String, Set<String>> choices = new LinkedHashMap<>();

  /** Returns the type of an attribute's values. */
  TypeName attribute(JsonNode attribute) {
    return switch (attribute.path("type").asString()) {
      case "boolean" -> TypeName.BOOLEAN;
      case "integer" -> TypeName.LONG;
      case "number" -> TypeName.DOUBLE;
      case "integers" -> ParameterizedTypeName.get(LIST, TypeName.LONG.box());
      case "numbers" -> ParameterizedTypeName.get(LIST, TypeName.DOUBLE.box());
      case "text" -> ClassName.get(String.class);
      default -> choiceType(attribute);
    };
  }

  /** Returns the type of a choice: DType for dtypes, else an enum shared by all of one name. */
  private TypeName choiceType(JsonNode attribute) {
    var values =
        list(attribute, "choices").stream()
            .map(JsonNode::asString)
            .collect(Collectors.toCollection(LinkedHashSet::new));
    if (values.stream().anyMatch(COMMON_DTYPES::contains)) {
      return DTYPE;
    }
    var name = capital(name(attribute));
    choices.computeIfAbsent(name, unseen -> new LinkedHashSet<>()).addAll(values);
    return ClassName.get(PACKAGE, name);
  }

  /** Returns the type of an output, or of the outputs of a list. */
  static TypeName resultType(JsonNode output) {
    return isList(output) ? ParameterizedTypeName.get(LIST, T) : T;
  }

  /** Returns the type of an input, or of the inputs of a list. */
  static TypeName operandType(JsonNode input) {
    return isList(input)
        ? ParameterizedTypeName.get(LIST, WildcardTypeName.subtypeOf(OPERAND))
        : OPERAND;
  }

  static ParameterizedTypeName future(TypeName result) {
    return ParameterizedTypeName.get(FUTURE, result);
  }

  /** Returns an enum for each name of a choice that {@link #attribute} has met. */
  List<TypeSpec> enumerations() {
    return choices.entrySet().stream()
        .map(choice -> enumeration(choice.getKey(), choice.getValue()))
        .toList();
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
}
