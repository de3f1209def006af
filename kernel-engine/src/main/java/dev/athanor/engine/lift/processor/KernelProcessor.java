package dev.athanor.engine.lift.processor;

import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.refusal.Declaration;
import dev.athanor.engine.lift.refusal.Declaration.Problem;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.annotation.processing.AbstractProcessor;
import javax.annotation.processing.RoundEnvironment;
import javax.lang.model.SourceVersion;
import javax.lang.model.element.AnnotationMirror;
import javax.lang.model.element.AnnotationValue;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.ArrayType;
import javax.lang.model.type.DeclaredType;
import javax.lang.model.type.TypeKind;
import javax.lang.model.type.TypeMirror;
import javax.lang.model.util.ElementFilter;
import javax.tools.Diagnostic;

/**
 * Reports declarations that cannot be kernels as compile errors, in the words that the launch would
 * use. It checks methods with {@link GpuKernel}: modifiers, types, and the block size. Bodies are
 * checked when the kernel is lifted. To use it, put the jar of this module on the processor path.
 */
public final class KernelProcessor extends AbstractProcessor {

  @Override
  public Set<String> getSupportedAnnotationTypes() {
    return Set.of(GpuKernel.class.getName());
  }

  @Override
  public SourceVersion getSupportedSourceVersion() {
    return SourceVersion.latestSupported();
  }

  @Override
  public boolean process(Set<? extends TypeElement> annotations, RoundEnvironment round) {
    for (var annotation : annotations) {
      ElementFilter.methodsIn(round.getElementsAnnotatedWith(annotation)).forEach(this::check);
    }
    return false;
  }

  private void check(ExecutableElement method) {
    var annotation =
        method.getAnnotationMirrors().stream()
            .filter(each -> each.getAnnotationType().toString().equals(GpuKernel.class.getName()))
            .findFirst()
            .orElseThrow();
    var blockSize = value(annotation, "blockSize");
    var problems = declaration(method, extents(blockSize)).problems();
    problems.forEach(problem -> report(problem, method, annotation, blockSize));
    var minBlocks = value(annotation, "minBlocks");
    minBlocks.stream()
        .filter(
            _ -> problems.stream().noneMatch(each -> each.part() == Declaration.Part.BLOCK_SIZE))
        .flatMap(each ->
            Declaration.minBlocksProblems((Integer) each.getValue(), extents(blockSize)).stream())
        .forEach(problem -> report(problem, method, annotation, minBlocks));
    var name = value(annotation, "name");
    name.stream()
        .flatMap(each -> Declaration.nameProblems(String.valueOf(each.getValue())).stream())
        .forEach(problem -> report(problem, method, annotation, name));
  }

  private void report(
      Problem problem,
      ExecutableElement method,
      AnnotationMirror annotation,
      List<AnnotationValue> element) {
    var messager = processingEnv.getMessager();
    var message = problem.message();
    switch (problem.part()) {
      case METHOD -> messager.printMessage(Diagnostic.Kind.ERROR, message, method);
      case PARAMETER ->
          messager.printMessage(
              Diagnostic.Kind.ERROR, message, method.getParameters().get(problem.index()));
      case NAME, BLOCK_SIZE, MIN_BLOCKS ->
          messager.printMessage(
              Diagnostic.Kind.ERROR, message, method, annotation, element.getFirst());
    }
  }

  private Declaration declaration(ExecutableElement method, List<Integer> blockSize) {
    return new Declaration(
        method.getSimpleName().toString(),
        method.getModifiers().stream().map(Modifier::toString).collect(Collectors.toSet()),
        !method.getTypeParameters().isEmpty(),
        method.isVarArgs(),
        !method.getThrownTypes().isEmpty(),
        name(method.getReturnType()),
        method.getParameters().stream()
            .map(each ->
                new Declaration.Parameter(
                    each.getSimpleName().toString(), name(each.asType()), isPassed(each.asType())))
            .toList(),
        blockSize);
  }

  /** Returns whether launches pass values of a type. */
  private boolean isPassed(TypeMirror type) {
    return isPassed(type, Set.of(), true);
  }

  private static boolean isEnum(TypeMirror type) {
    return type instanceof DeclaredType declared
        && declared.asElement().getKind() == ElementKind.ENUM;
  }

  /**
   * Returns whether launches pass values of a type.
   *
   * @param around the records that the value is a component of
   * @param hasMemory whether it may be or contain an array or a segment
   */
  private boolean isPassed(TypeMirror type, Set<Element> around, boolean hasMemory) {
    if (type instanceof ArrayType array) {
      return hasMemory
          && !isEnum(array.getComponentType())
          && isPassed(array.getComponentType(), Set.of(), false);
    }
    if (!(type instanceof DeclaredType declared)
        || !(declared.asElement() instanceof TypeElement element)) {
      return type.getKind().isPrimitive();
    }
    var inner = new HashSet<>(around);
    return isEnum(type)
        || (hasMemory && name(type).equals(MemorySegment.class.getName()))
        || (element.getKind() == ElementKind.RECORD
            && inner.add(element)
            && !element.getRecordComponents().isEmpty()
            && element.getRecordComponents().stream()
                .allMatch(each -> isPassed(each.asType(), inner, hasMemory)));
  }

  /** Returns the name of an erased type, without annotations. */
  private String name(TypeMirror type) {
    var erased = processingEnv.getTypeUtils().erasure(type);
    return switch (erased) {
      case ArrayType array -> name(array.getComponentType()) + "[]";
      case DeclaredType declared when declared.asElement() instanceof TypeElement element ->
          element.getQualifiedName().toString();
      default ->
          erased.getKind().isPrimitive() || erased.getKind() == TypeKind.VOID
              ? erased.getKind().name().toLowerCase(Locale.ROOT)
              : erased.toString();
    };
  }

  /** Returns the value of an element of an annotation, in a list; empty if it is not given. */
  private static List<AnnotationValue> value(AnnotationMirror annotation, String name) {
    return annotation.getElementValues().entrySet().stream()
        .filter(each -> each.getKey().getSimpleName().contentEquals(name))
        .<AnnotationValue>map(each -> each.getValue())
        .toList();
  }

  private static List<Integer> extents(List<AnnotationValue> blockSize) {
    return blockSize.stream()
        .flatMap(value -> value.getValue() instanceof List<?> list ? list.stream() : Stream.of())
        .map(each -> each instanceof AnnotationValue value ? value.getValue() : each)
        .filter(Integer.class::isInstance)
        .map(Integer.class::cast)
        .toList();
  }
}
