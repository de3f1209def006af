package dev.athanor.service.tensor;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.regex.Pattern;

/**
 * The names of tensors that clients store by name. They stand wherever handles do, so none looks
 * like a handle, not even a misspelled one.
 */
public final class Names {

  private static final Pattern FORM = Pattern.compile("(?!t_)[A-Za-z0-9][A-Za-z0-9._-]{0,127}");

  private Names() {}

  /** Returns whether a text could be the name of a tensor. */
  public static boolean isName(String text) {
    return FORM.matcher(text).matches();
  }

  /**
   * Returns a name.
   *
   * @throws Failure.Refused with {@code invalid-attribute} if the text is not of the form
   */
  public static String check(String text) {
    if (!isName(text)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "name",
          "the name is \"%s\"; a name has 1 to 128 letters, digits, periods, hyphens and underscores, begins with a letter or a digit, and not with t_ as handles do"
              .formatted(Tensors.excerpt(text)));
    }
    return text;
  }
}
