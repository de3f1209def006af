package dev.athanor.vulkan.spirv;

/** The result of an instruction or a constant. */
record Value(int id, Scalar type) {
  boolean isFloat() {
    return type.isFloat();
  }
}
