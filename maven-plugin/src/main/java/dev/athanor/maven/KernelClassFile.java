package dev.athanor.maven;

import dev.athanor.engine.lift.GpuKernel;
import java.io.IOException;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.MethodModel;
import java.lang.constant.ClassDesc;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A class file with kernels. Annotations are read from the file, so that classes without kernels
 * are never loaded.
 *
 * @param name the binary name of the class
 * @param sourceFile the name of its source, without a folder
 * @param kernels in the order of the source
 */
record KernelClassFile(String name, String sourceFile, List<Kernel> kernels) {

  private static final ClassDesc ANNOTATION = ClassDesc.of(GpuKernel.class.getName());

  /** A method by its descriptor, with its first line; 0 if it has none. */
  record Kernel(String name, String descriptor, int line) {}

  /** Returns the class files with kernels in and below a folder, by the name of the class. */
  static List<KernelClassFile> below(Path folder) throws IOException {
    List<Path> all;
    try (var files = Files.walk(folder)) {
      all = files.filter(file -> file.toString().endsWith(".class")).toList();
    }
    var found = new ArrayList<KernelClassFile>();
    for (var file : all) {
      var model = ClassFile.of().parse(file);
      var kernels = model.methods().stream().filter(KernelClassFile::isKernel).toList();
      if (!kernels.isEmpty()) {
        found.add(of(model, kernels));
      }
    }
    found.sort(Comparator.comparing(KernelClassFile::name));
    return found;
  }

  private static boolean isKernel(MethodModel method) {
    return method.findAttribute(Attributes.runtimeVisibleAnnotations()).stream()
        .flatMap(attribute -> attribute.annotations().stream())
        .anyMatch(annotation -> annotation.classSymbol().equals(ANNOTATION));
  }

  private static KernelClassFile of(ClassModel model, List<MethodModel> kernels) {
    var name = model.thisClass().asInternalName().replace('/', '.');
    var sourceFile =
        model
            .findAttribute(Attributes.sourceFile())
            .map(attribute -> attribute.sourceFile().stringValue())
            .orElse(name);
    return new KernelClassFile(
        name,
        sourceFile,
        kernels.stream()
            .map(each ->
                new Kernel(
                    each.methodName().stringValue(), each.methodType().stringValue(), line(each)))
            .toList());
  }

  private static int line(MethodModel method) {
    return method
        .code()
        .flatMap(code -> code.findAttribute(Attributes.lineNumberTable()))
        .flatMap(table -> table.lineNumbers().stream().findFirst())
        .map(first -> first.lineNumber())
        .orElse(0);
  }

  /** Returns the package of the class as a folder; empty for the unnamed package. */
  Path packageFolder() {
    return Path.of(name.substring(0, Math.max(0, name.lastIndexOf('.'))).replace('.', '/'));
  }

  /** Loads the class without its initialization, and returns the method of a kernel. */
  Method load(Kernel kernel, ClassLoader loader) throws ReflectiveOperationException {
    var types = MethodType.fromMethodDescriptorString(kernel.descriptor(), loader);
    return Class.forName(name, false, loader)
        .getDeclaredMethod(kernel.name(), types.parameterArray());
  }
}
