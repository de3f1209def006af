package dev.athanor.vulkan.spirv;

/** The numbers of the SPIR-V 1.6 specification that shaders use. */
final class Spirv {

  private Spirv() {}

  static final int MAGIC = 0x07230203;
  static final int VERSION_1_6 = 0x0001_0600;

  static final int EXTENSION = 10;
  static final int EXT_INST_IMPORT = 11;
  static final int EXT_INST = 12;
  static final int MEMORY_MODEL = 14;
  static final int ENTRY_POINT = 15;
  static final int EXECUTION_MODE = 16;
  static final int CAPABILITY = 17;
  static final int TYPE_VOID = 19;
  static final int TYPE_BOOL = 20;
  static final int TYPE_INT = 21;
  static final int TYPE_FLOAT = 22;
  static final int TYPE_VECTOR = 23;
  static final int TYPE_ARRAY = 28;
  static final int TYPE_RUNTIME_ARRAY = 29;
  static final int TYPE_STRUCT = 30;
  static final int TYPE_POINTER = 32;
  static final int TYPE_FUNCTION = 33;
  static final int CONSTANT_TRUE = 41;
  static final int CONSTANT_FALSE = 42;
  static final int CONSTANT = 43;
  static final int CONSTANT_COMPOSITE = 44;
  static final int FUNCTION = 54;
  static final int FUNCTION_END = 56;
  static final int VARIABLE = 59;
  static final int LOAD = 61;
  static final int STORE = 62;
  static final int ACCESS_CHAIN = 65;
  static final int DECORATE = 71;
  static final int MEMBER_DECORATE = 72;
  static final int COMPOSITE_CONSTRUCT = 80;
  static final int COMPOSITE_EXTRACT = 81;
  static final int CONVERT_F_TO_U = 109;
  static final int CONVERT_F_TO_S = 110;
  static final int CONVERT_S_TO_F = 111;
  static final int CONVERT_U_TO_F = 112;
  static final int U_CONVERT = 113;
  static final int S_CONVERT = 114;
  static final int F_CONVERT = 115;
  static final int CONVERT_U_TO_PTR = 120;
  static final int BITCAST = 124;
  static final int I_ADD = 128;
  static final int F_ADD = 129;
  static final int I_SUB = 130;
  static final int F_SUB = 131;
  static final int I_MUL = 132;
  static final int F_MUL = 133;
  static final int U_DIV = 134;
  static final int F_DIV = 136;
  static final int U_MOD = 137;
  static final int IS_NAN = 156;
  static final int IS_INF = 157;
  static final int LOGICAL_EQUAL = 164;
  static final int LOGICAL_NOT_EQUAL = 165;
  static final int LOGICAL_OR = 166;
  static final int LOGICAL_AND = 167;
  static final int LOGICAL_NOT = 168;
  static final int SELECT = 169;
  static final int I_EQUAL = 170;
  static final int I_NOT_EQUAL = 171;
  static final int U_GREATER_THAN = 172;
  static final int S_GREATER_THAN = 173;
  static final int U_GREATER_THAN_EQUAL = 174;
  static final int S_GREATER_THAN_EQUAL = 175;
  static final int U_LESS_THAN = 176;
  static final int S_LESS_THAN = 177;
  static final int U_LESS_THAN_EQUAL = 178;
  static final int S_LESS_THAN_EQUAL = 179;
  static final int F_ORD_EQUAL = 180;
  static final int F_UNORD_EQUAL = 181;
  static final int F_ORD_NOT_EQUAL = 182;
  static final int F_UNORD_NOT_EQUAL = 183;
  static final int F_ORD_LESS_THAN = 184;
  static final int F_UNORD_LESS_THAN = 185;
  static final int F_ORD_GREATER_THAN = 186;
  static final int F_UNORD_GREATER_THAN = 187;
  static final int F_ORD_LESS_THAN_EQUAL = 188;
  static final int F_UNORD_LESS_THAN_EQUAL = 189;
  static final int F_ORD_GREATER_THAN_EQUAL = 190;
  static final int F_UNORD_GREATER_THAN_EQUAL = 191;
  static final int SHIFT_RIGHT_LOGICAL = 194;
  static final int SHIFT_RIGHT_ARITHMETIC = 195;
  static final int SHIFT_LEFT_LOGICAL = 196;
  static final int BITWISE_OR = 197;
  static final int BITWISE_XOR = 198;
  static final int BITWISE_AND = 199;
  static final int NOT = 200;
  static final int BIT_REVERSE = 204;
  static final int BIT_COUNT = 205;
  static final int CONTROL_BARRIER = 224;
  static final int MEMORY_BARRIER = 225;
  static final int ATOMIC_LOAD = 227;
  static final int ATOMIC_STORE = 228;
  static final int ATOMIC_EXCHANGE = 229;
  static final int ATOMIC_COMPARE_EXCHANGE = 230;
  static final int ATOMIC_I_ADD = 234;
  static final int ATOMIC_S_MIN = 236;
  static final int ATOMIC_U_MIN = 237;
  static final int ATOMIC_S_MAX = 238;
  static final int ATOMIC_U_MAX = 239;
  static final int ATOMIC_AND = 240;
  static final int ATOMIC_OR = 241;
  static final int ATOMIC_XOR = 242;
  static final int LOOP_MERGE = 246;
  static final int SELECTION_MERGE = 247;
  static final int LABEL = 248;
  static final int BRANCH = 249;
  static final int BRANCH_CONDITIONAL = 250;
  static final int RETURN = 253;
  static final int GROUP_BALLOT = 339;
  static final int GROUP_SHUFFLE = 345;

  // SPV_KHR_cooperative_matrix
  static final int TYPE_COOPERATIVE_MATRIX = 4456;
  static final int COOPERATIVE_MATRIX_LOAD = 4457;
  static final int COOPERATIVE_MATRIX_STORE = 4458;
  static final int COOPERATIVE_MATRIX_MUL_ADD = 4459;
  static final int MATRIX_A = 0;
  static final int MATRIX_B = 1;
  static final int MATRIX_ACCUMULATOR = 2;
  static final int ROW_MAJOR = 0;
  static final int COLUMN_MAJOR = 1;

  // capabilities
  static final int SHADER = 1;
  static final int FLOAT16 = 9;
  static final int FLOAT64 = 10;
  static final int INT64 = 11;
  static final int INT64_ATOMICS = 12;
  static final int GROUP_NON_UNIFORM = 61;
  static final int GROUP_NON_UNIFORM_BALLOT = 64;
  static final int GROUP_NON_UNIFORM_SHUFFLE = 65;
  static final int STORAGE_16 = 4433;
  static final int STORAGE_8 = 4448;
  static final int SIGNED_ZERO_INF_NAN_PRESERVE = 4466;
  static final int DENORM_PRESERVE = 4464;
  static final int VULKAN_MEMORY_MODEL = 5345;
  static final int VULKAN_MEMORY_MODEL_DEVICE_SCOPE = 5346;
  static final int PHYSICAL_STORAGE = 5347;
  static final int COOPERATIVE_MATRIX = 6022;

  // addressing and memory models
  static final int PHYSICAL_STORAGE_BUFFER_64 = 5348;
  static final int GLSL_450_MODEL = 1;
  static final int VULKAN_MODEL = 3;

  // storage classes
  static final int INPUT = 1;
  static final int WORKGROUP = 4;
  static final int PRIVATE = 6;
  static final int PER_INVOCATION = 7;
  static final int PUSH_CONSTANT = 9;
  static final int PHYSICAL_STORAGE_BUFFER = 5349;

  // built-in variables
  static final int NUM_WORKGROUPS = 24;
  static final int WORKGROUP_ID = 26;
  static final int LOCAL_INVOCATION_ID = 27;
  static final int SUBGROUP_ID = 40;
  static final int SUBGROUP_LOCAL_INVOCATION_ID = 41;

  // decorations
  static final int BLOCK = 2;
  static final int ARRAY_STRIDE = 6;
  static final int BUILT_IN = 11;
  static final int OFFSET = 35;
  static final int NO_CONTRACTION = 42;

  // execution modes
  static final int LOCAL_SIZE = 17;
  static final int PRESERVE_MODE = 4461;
  static final int DENORM_PRESERVE_MODE = 4459;

  // GLSL.std.450
  static final int ROUND_EVEN = 2;
  static final int TRUNC = 3;
  static final int FLOOR = 8;
  static final int CEIL = 9;
  static final int SIN = 13;
  static final int COS = 14;
  static final int EXP2 = 29;
  static final int LOG2 = 30;
  static final int SQRT = 31;
  static final int FMA = 50;
  static final int UNPACK_HALF_2X16 = 62;
  static final int FIND_U_MSB = 75;
  static final int N_MIN = 79;
  static final int N_MAX = 80;

  // scopes
  static final int DEVICE_SCOPE = 1;
  static final int WORKGROUP_SCOPE = 2;
  static final int SUBGROUP_SCOPE = 3;

  /** Acquires and releases device memory and shared memory. */
  static final int ORDERED = 0x148;

  /** In Vulkan's memory model, lets accesses after an ordered barrier see those before it. */
  static final int AVAILABLE_AND_VISIBLE = 0x6000;

  // memory operands
  static final int ALIGNED = 2;
  static final int NON_PRIVATE = 0x20;
}
