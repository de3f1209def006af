package dev.athanor.junit;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Finds kernels by their names in C++ or PTX. */
final class KernelNames {

  private KernelNames() {}

  /**
   * Returns the only kernel with a name.
   *
   * @param wanted the name in PTX, or in C++ without namespace and parameters
   */
  static <K> Optional<K> find(String wanted, List<K> kernels, Function<K, String> name) {
    var mangled = "_Z" + wanted.length() + wanted;
    var found =
        kernels.stream()
            .filter(each -> {
              var own = name.apply(each);
              return own.equals(wanted) || own.startsWith(mangled);
            })
            .toList();
    return found.size() == 1 ? Optional.of(found.getFirst()) : Optional.empty();
  }

  /** Returns the exception of a failed search, whose message lists the kernels of the file. */
  static IllegalArgumentException notFound(String file, List<String> names, String otherwise) {
    return new IllegalArgumentException(
        "%s has the kernels %s; %s".formatted(file, String.join(", ", names), otherwise));
  }
}
