package dev.athanor.vulkan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.lwjgl.vulkan.KHRCooperativeMatrix.*;

import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Type;
import dev.athanor.vulkan.spirv.CooperativeProduct;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.lwjgl.system.MemoryStack;
import org.lwjgl.system.MemoryUtil;
import org.lwjgl.vulkan.VkCooperativeMatrixPropertiesKHR;

class CooperativeMatricesTest {

  private static final int F16 = VK_COMPONENT_TYPE_FLOAT16_KHR;
  private static final int F32 = VK_COMPONENT_TYPE_FLOAT32_KHR;
  private static final int BF16 = 1000141000;

  /** Loads LWJGL's libraries. */
  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  @ParameterizedTest
  @CsvSource({
    "16, 16, 16, f16, f16, f32, f32, 0, 3, F32, F32",
    "16, 8,  16, f16, f16, f16, f32, 0, 3, F16, F32",
    "16, 16, 16, f16, f16, f32, f32, 1, 3,,", // saturates
    "16, 16, 16, f16, f16, f32, f32, 0, 2,,", // matrices of a block of threads
    "16, 16, 16, bf16, bf16, f32, f32, 0, 3,,",
    "16, 16, 16, f16, f16, f32, bf16, 0, 3,,",
  })
  void readsProducts(
      int m,
      int n,
      int k,
      String a,
      String b,
      String c,
      String result,
      int saturates,
      int scope,
      Type addend,
      Type sum) {
    try (var stack = MemoryStack.stackPush()) {
      var given = VkCooperativeMatrixPropertiesKHR.calloc(stack).sType$Default();
      put(given, VkCooperativeMatrixPropertiesKHR.MSIZE, m);
      put(given, VkCooperativeMatrixPropertiesKHR.NSIZE, n);
      put(given, VkCooperativeMatrixPropertiesKHR.KSIZE, k);
      put(given, VkCooperativeMatrixPropertiesKHR.ATYPE, component(a));
      put(given, VkCooperativeMatrixPropertiesKHR.BTYPE, component(b));
      put(given, VkCooperativeMatrixPropertiesKHR.CTYPE, component(c));
      put(given, VkCooperativeMatrixPropertiesKHR.RESULTTYPE, component(result));
      put(given, VkCooperativeMatrixPropertiesKHR.SATURATINGACCUMULATION, saturates);
      put(given, VkCooperativeMatrixPropertiesKHR.SCOPE, scope);
      var found = CooperativeMatrices.product(given);
      if (sum == null) {
        assertThat(found).isEmpty();
      } else {
        assertThat(found).contains(new CooperativeProduct(new MatrixShape(m, n, k), addend, sum));
      }
    }
  }

  private static void put(VkCooperativeMatrixPropertiesKHR structure, int offset, int value) {
    MemoryUtil.memPutInt(structure.address() + offset, value);
  }

  private static int component(String type) {
    return switch (type) {
      case "f16" -> F16;
      case "f32" -> F32;
      default -> BF16;
    };
  }
}
