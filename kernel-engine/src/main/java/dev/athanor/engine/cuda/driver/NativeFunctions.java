package dev.athanor.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/** Binds and calls native functions without JCuda. Each returns a status code. */
public final class NativeFunctions {

  private NativeFunctions() {}

  /** Returns a function of a library; empty if the library does not export it. */
  @SuppressWarnings("restricted") // callers pass the signatures of NVIDIA's headers
  public static Optional<MethodHandle> bind(
      SymbolLookup library, String name, MemoryLayout... parameters) {
    return library
        .find(name)
        .map(symbol ->
            Linker.nativeLinker()
                .downcallHandle(symbol, FunctionDescriptor.of(JAVA_INT, parameters)));
  }

  /** Calls a function with arguments that match its signature, and returns its status code. */
  public static int call(MethodHandle function, Object... arguments) {
    try {
      return (int) function.invokeWithArguments(arguments);
    } catch (Throwable e) {
      throw mismatch(e);
    }
  }

  /** Native functions throw nothing: the arguments do not match the signature. */
  static LinkageError mismatch(Throwable e) {
    return new LinkageError("the arguments do not match the native function's signature", e);
  }
}
