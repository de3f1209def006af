package dev.athanor.engine.lift.marshal;

import dev.athanor.engine.lift.refusal.OpenPackages;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A component of records that a launch passes. */
public record PassedComponent(String name, Class<?> type, Method accessor) {

  private static final ClassValue<List<PassedComponent>> BY_CLASS =
      new ClassValue<>() {
        @Override
        protected List<PassedComponent> computeValue(Class<?> type) {
          var components = new ArrayList<PassedComponent>();
          for (var each : type.getRecordComponents()) {
            components.add(new PassedComponent(each.getName(), each.getType(), each.getAccessor()));
          }
          return List.copyOf(components);
        }
      };

  /**
   * Opens the accessor to this module.
   *
   * @throws IllegalArgumentException if its module does not allow that
   */
  public PassedComponent {
    try {
      accessor.setAccessible(true);
    } catch (InaccessibleObjectException e) {
      var owner = accessor.getDeclaringClass();
      throw new IllegalArgumentException(
          "cannot read records of %s: its package is not open; %s"
              .formatted(owner.getSimpleName(), OpenPackages.request(owner)),
          e);
    }
  }

  /** Returns the components of a class of records, in order. */
  public static List<PassedComponent> of(Class<?> type) {
    return BY_CLASS.get(type);
  }

  /** Returns the component of a record. */
  public @Nullable Object in(Object record) {
    try {
      return accessor.invoke(record);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException("the accessor %s fails".formatted(name), e.getCause());
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e); // it is accessible
    }
  }
}
