package dev.athanor.engine.lift.refusal;

/** How a named module lets this one see what is not public. */
public final class OpenPackages {

  private OpenPackages() {}

  /** Returns a sentence part that asks to open the package of a class to this module. */
  public static String request(Class<?> type) {
    var own = OpenPackages.class.getModule();
    return "add `opens %s%s;` to the module-info.java of %s"
        .formatted(
            type.getPackageName(),
            own.isNamed() ? " to " + own.getName() : "",
            type.getModule().getName());
  }
}
