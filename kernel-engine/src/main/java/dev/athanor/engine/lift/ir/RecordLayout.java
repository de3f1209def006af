package dev.athanor.engine.lift.ir;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The memory of a record of numbers, as C lays out the struct with the same members: each component
 * at a multiple of its alignment, and the size a multiple of the largest alignment.
 *
 * @param type class of the record
 * @param components in order; at least one
 */
public record RecordLayout(Class<?> type, List<Component> components, int bytes, int alignment)
    implements ElementType {

  /**
   * A component.
   *
   * @param type in Java
   * @param element its memory; {@link Element#INT} for the ordinal of an enum
   * @param offset in bytes from the start of the record
   */
  public record Component(String name, Class<?> type, ElementType element, int offset) {}

  /**
   * A number of a record or of a record in it.
   *
   * @param path names of components, with dots between them
   * @param offset in bytes from the start of the outermost record
   */
  public record Leaf(String path, Element element, int offset) {}

  /**
   * Returns the layout of a class; empty unless it is a record whose components are numbers,
   * booleans, enums or such records.
   */
  public static Optional<RecordLayout> of(Class<?> type) {
    return of(type, new HashSet<>());
  }

  private static Optional<RecordLayout> of(Class<?> type, Set<Class<?>> around) {
    var declared = type.getRecordComponents();
    if (declared == null || declared.length == 0 || !around.add(type)) {
      return Optional.empty();
    }
    var components = new ArrayList<Component>();
    int end = 0;
    int alignment = 1;
    for (var each : declared) {
      var element =
          scalar(each.getType()).<ElementType>map(e -> e).or(() -> of(each.getType(), around));
      if (element.isEmpty()) {
        return Optional.empty();
      }
      int offset = roundUp(end, element.get().alignment());
      components.add(new Component(each.getName(), each.getType(), element.get(), offset));
      end = offset + element.get().bytes();
      alignment = Math.max(alignment, element.get().alignment());
    }
    around.remove(type);
    return Optional.of(
        new RecordLayout(type, List.copyOf(components), roundUp(end, alignment), alignment));
  }

  /** Returns the element of a type whose values are one number; empty for other types. */
  public static Optional<Element> scalar(Class<?> type) {
    return type.isEnum() ? Optional.of(Element.INT) : Element.of(type);
  }

  private static int roundUp(int bytes, int alignment) {
    return Math.ceilDiv(bytes, alignment) * alignment;
  }

  /** Returns the numbers, in order. */
  public List<Leaf> leaves() {
    return components.stream()
        .<Leaf>mapMulti((each, leaves) -> {
          switch (each.element) {
            case Element number -> leaves.accept(new Leaf(each.name, number, each.offset));
            case RecordLayout inner ->
                inner
                    .leaves()
                    .forEach(leaf ->
                        leaves.accept(
                            new Leaf(
                                each.name + "." + leaf.path,
                                leaf.element,
                                each.offset + leaf.offset)));
          }
        })
        .toList();
  }

  @Override
  public String word() {
    return type.getSimpleName();
  }
}
