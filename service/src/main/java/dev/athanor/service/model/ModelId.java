package dev.athanor.service.model;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.Tenant;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of a model, which is unique among those of its tenant. A reference to a version of a
 * model is its name, which stands for the default version, or {@code name@version}.
 */
public record ModelId(Tenant tenant, String name) {

  private static final String NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}";
  private static final Pattern FORM = Pattern.compile(NAME);

  /** What {@code /v2/models/stats} names. */
  static final String STATISTICS = "stats";

  private static final Pattern REFERENCE =
      Pattern.compile("(?!%s(@|$))%s(?:@[1-9]\\d{0,17})?".formatted(STATISTICS, NAME));

  /** Between a name and a version. */
  private static final char AT = '@';

  /** Returns the model of a reference. */
  static ModelId of(Tenant tenant, String reference) {
    int at = reference.indexOf(AT);
    return new ModelId(tenant, at < 0 ? reference : reference.substring(0, at));
  }

  /** Returns the version of a reference; null for the default. */
  static @Nullable String version(String reference) {
    int at = reference.indexOf(AT);
    return at < 0 ? null : reference.substring(at + 1);
  }

  /**
   * Returns a reference to a version of a model.
   *
   * @param version null or empty for that in the name, or the default
   */
  public static String reference(String name, @Nullable String version) {
    return version == null || version.isEmpty() ? name : name + AT + version;
  }

  /**
   * Checks the form of the name.
   *
   * @throws Failure.Refused with {@code invalid-attribute}
   */
  void check() {
    if (!FORM.matcher(name).matches()) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "name",
          "the name is \"%s\"; a name has 1 to 64 letters, digits, periods, hyphens and underscores and begins with a letter or a digit"
              .formatted(Tensors.excerpt(name)));
    }
  }

  /** Returns the failure of a request with a model or a version that this replica lacks. */
  public static Failure unknown(Code code, String message, String reference) {
    return REFERENCE.matcher(reference).matches()
        ? Failure.UnknownName.ofModel(code, message, reference)
        : new Failure.Refused(code, message);
  }
}
