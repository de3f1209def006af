package dev.athanor.engine.emulator.lanes;

import static java.lang.constant.ConstantDescs.CD_MethodHandle;
import static java.lang.constant.ConstantDescs.CD_MethodHandles;
import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_int;

import java.lang.classfile.CodeBuilder;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DynamicConstantDesc;
import java.lang.invoke.MethodHandle;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The method handles that the code of a hidden class invokes. They are the class data of that class
 * and constants to its code, so that the JIT inlines them.
 */
public final class HandleConstants {

  private final Map<MethodHandle, Integer> indices = new LinkedHashMap<>();

  /** Returns the index of a handle in the class data, to which it is added if necessary. */
  public int index(MethodHandle handle) {
    return indices.computeIfAbsent(handle, _ -> indices.size());
  }

  /** Emits the invocation of a handle, whose arguments {@code arguments} pushes. */
  public void invoke(CodeBuilder code, MethodHandle handle, Runnable arguments) {
    code.loadConstant(
        DynamicConstantDesc.ofNamed(
            ConstantDescs.ofConstantBootstrap(CD_MethodHandles, "classDataAt", CD_Object, CD_int),
            ConstantDescs.DEFAULT_NAME,
            CD_MethodHandle,
            index(handle)));
    arguments.run();
    code.invokevirtual(
        CD_MethodHandle, "invokeExact", handle.type().describeConstable().orElseThrow());
  }

  /** The handles in the order of their indices. */
  public List<MethodHandle> classData() {
    return List.copyOf(indices.keySet());
  }
}
