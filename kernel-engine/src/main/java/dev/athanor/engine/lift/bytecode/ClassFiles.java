package dev.athanor.engine.lift.bytecode;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.constant.MethodTypeDesc;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The class files that a class loader finds. */
final class ClassFiles {
  private final @Nullable ClassLoader loader;
  private final Map<String, Optional<ClassModel>> models = new HashMap<>();

  ClassFiles(@Nullable ClassLoader loader) {
    this.loader = loader;
  }

  /** Returns the internal name of a class, such as {@code java/lang/Math}. */
  static String internalName(Class<?> type) {
    return type.getName().replace('.', '/');
  }

  /** Returns the simple name of a class. */
  static String simpleName(String internalName) {
    return internalName.substring(internalName.lastIndexOf('/') + 1).replace('$', '.');
  }

  /** Returns a class by its internal name, such as {@code java/lang/Math}. */
  Optional<ClassModel> find(String internalName) {
    return models.computeIfAbsent(internalName, this::read);
  }

  private Optional<ClassModel> read(String internalName) {
    var resource = internalName + ".class";
    try (var bytes =
        loader == null
            ? ClassLoader.getSystemResourceAsStream(resource)
            : loader.getResourceAsStream(resource)) {
      return bytes == null
          ? Optional.empty()
          : Optional.of(ClassFile.of().parse(bytes.readAllBytes()));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + resource, e);
    }
  }

  /** Returns a method by the internal name of its class, its name and its descriptor. */
  Optional<MethodModel> method(String owner, String name, String descriptor) {
    return find(owner)
        .flatMap(model ->
            model.methods().stream()
                .filter(m ->
                    m.methodName().equalsString(name) && m.methodType().equalsString(descriptor))
                .findFirst());
  }

  /** Returns the class that declares a method which a class has or inherits; else the class. */
  String declaring(String owner, String name, MethodTypeDesc type) {
    var next = Optional.of(owner);
    while (next.isPresent() && method(next.get(), name, type.descriptorString()).isEmpty()) {
      next = find(next.get()).flatMap(ClassModel::superclass).map(ClassEntry::asInternalName);
    }
    return next.orElse(owner);
  }

  /** Returns a loaded and initialized class by its internal name. */
  Class<?> load(String internalName) throws ClassNotFoundException {
    return Class.forName(internalName.replace('/', '.'), true, loader);
  }
}
