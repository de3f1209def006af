package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.Semantics.LaneOperation.ARITHMETIC;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.BITWISE;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.BITWISE_AND;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.DIVISION;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.MIN_MAX;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.MULTIPLY_ADD;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.OTHER;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.SHIFT_RIGHT;
import static dev.athanor.engine.ptx.table.Row.carry;
import static dev.athanor.engine.ptx.table.Row.pure;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.InstructionForm.Undefined;
import dev.athanor.engine.ptx.Semantics.Carry;
import java.util.List;

/** Instructions on integers, their bits and carries (PTX ISA 9.7.1, 9.7.2, 9.7.8). */
final class IntegerRows {

  // spotless:off
  static final List<InstructionForm> ALL =
      Row.forms(
          // arithmetic
          pure(ARITHMETIC, "9.7.1.1",     "1.0", 20, "add.int d, a, b",                                                   "add"),
          pure(ARITHMETIC, "9.7.1.2",     "1.0", 20, "sub.int d, a, b",                                                   "sub"),
          pure(ARITHMETIC, "9.7.1.3",     "1.0", 20, "mul.lo.int d, a, b",                                                "mul"),
          pure(ARITHMETIC, "9.7.1.3",     "1.0", 20, "mul.hi.<s32|s64> d, a, b",                                          "mulHigh"),
          pure(ARITHMETIC, "9.7.1.3",     "1.0", 20, "mul.hi.<u32|u64> d, a, b",                                          "mulHighUnsigned"),
          pure(ARITHMETIC, "9.7.1.3",     "1.0", 20, "mul.wide.<s16|s32> d:wide, a, b",                                   "mulWide"),
          pure(ARITHMETIC, "9.7.1.3",     "1.0", 20, "mul.wide.<u16|u32> d:wide, a, b",                                   "mulWideUnsigned"),
          pure(MULTIPLY_ADD, "9.7.1.4",     "1.0", 20, "mad.lo.int d, a, b, c",                                             "mad"),
          pure(MULTIPLY_ADD, "9.7.1.4",     "1.0", 20, "mad.wide.s32 d:wide, a, b, c:wide",                                 "madWide"),
          pure(MULTIPLY_ADD, "9.7.1.4",     "1.0", 20, "mad.wide.u32 d:wide, a, b, c:wide",                                 "madWideUnsigned"),
          pure(DIVISION, "9.7.1.7",     "1.0", 20, "div.sint d, a, b",                                                  "div").undefined(Undefined.ZERO_DIVISOR),
          pure(DIVISION, "9.7.1.7",     "1.0", 20, "div.uint d, a, b",                                                  "divUnsigned").undefined(Undefined.ZERO_DIVISOR),
          pure("9.7.1.8",     "1.0", 20, "rem.sint d, a, b",                                                  "rem").undefined(Undefined.ZERO_DIVISOR),
          pure("9.7.1.8",     "1.0", 20, "rem.uint d, a, b",                                                  "remUnsigned").undefined(Undefined.ZERO_DIVISOR),
          pure("9.7.1.9",     "1.0", 20, "abs.sint d, a",                                                     "abs"),
          pure("9.7.1.10",    "1.0", 20, "neg.sint d, a",                                                     "neg"),
          pure(MIN_MAX, "9.7.1.11",    "1.0", 20, "min.sint d, a, b",                                                  "min"),
          pure(MIN_MAX, "9.7.1.11",    "1.0", 20, "min.uint d, a, b",                                                  "minUnsigned"),
          pure(MIN_MAX, "9.7.1.12",    "1.0", 20, "max.sint d, a, b",                                                  "max"),
          pure(MIN_MAX, "9.7.1.12",    "1.0", 20, "max.uint d, a, b",                                                  "maxUnsigned"),
          pure(MULTIPLY_ADD, "9.7.1.4", "1.0", 20, "mad.wide.s16 d:wide, a, b, c:wide", "mad"),
          pure(MULTIPLY_ADD, "9.7.1.4", "1.0", 20, "mad.hi.s16 d, a, b, c", "madHigh16"),
          pure(MULTIPLY_ADD, "9.7.1.4", "1.0", 20, "mad.hi.<s32|s64> d, a, b, c", "madHigh"),
          pure(ARITHMETIC, "9.7.1.3", "1.0", 20, "mul.hi.s16 d, a, b", "mulHigh16"),
          pure("9.7.1.5", "1.0", 20, "mul24.lo.s32 d, a, b", "mul24"),
          pure("9.7.1.5", "1.0", 20, "mul24.hi.s32 d, a, b", "mul24High"),
          pure("9.7.1.6", "1.0", 20, "mad24.lo.s32 d, a, b, c", "mad24"),
          pure("9.7.1.6", "1.0", 20, "mad24.hi.s32 d, a, b, c", "mad24High"),
          pure("9.7.1.14", "1.0", 20, "sad.sint d, a, b, c", "sad"),
          pure(MULTIPLY_ADD, "9.7.1.4", "1.0", 20, "mad.wide.u16 d:wide, a, b, c:wide", "mad"),
          pure(MULTIPLY_ADD, "9.7.1.4", "1.0", 20, "mad.hi.u16 d, a, b, c", "madHigh16"),
          pure(MULTIPLY_ADD, "9.7.1.4", "1.0", 20, "mad.hi.<u32|u64> d, a, b, c", "madHighUnsigned"),
          pure(ARITHMETIC, "9.7.1.3", "1.0", 20, "mul.hi.u16 d, a, b", "mulHigh16"),
          pure("9.7.1.5", "1.0", 20, "mul24.lo.u32 d, a, b", "mul24Unsigned"),
          pure("9.7.1.5", "1.0", 20, "mul24.hi.u32 d, a, b", "mul24HighUnsigned"),
          pure("9.7.1.6", "1.0", 20, "mad24.lo.u32 d, a, b, c", "mad24Unsigned"),
          pure("9.7.1.6", "1.0", 20, "mad24.hi.u32 d, a, b, c", "mad24HighUnsigned"),
          pure("9.7.1.14", "1.0", 20, "sad.uint d, a, b, c", "sadUnsigned"),
          pure(ARITHMETIC, "9.7.1.1", "1.0", 20, "add.sat.s32 d, a, b", "addSaturating"),
          pure(ARITHMETIC, "9.7.1.2", "1.0", 20, "sub.sat.s32 d, a, b", "subSaturating"),
          pure(MULTIPLY_ADD, "9.7.1.4", "1.0", 20, "mad.hi.sat.s32 d, a, b, c", "madHighSaturating"),
          pure("9.7.1.6", "1.0", 20, "mad24.hi.sat.s32 d, a, b, c", "mad24HighSaturating"),
          pure(ARITHMETIC, "9.7.1.1", "8.0", 90, "add.<u16x2|s16x2> d, a, b", "add"),
          pure(MIN_MAX, "9.7.1.11", "8.0", 90, "min.s16x2 d, a, b", "min"),
          pure(MIN_MAX, "9.7.1.11", "8.0", 90, "min.relu.<s16x2|s32> d, a, b", "min>positive"),
          pure(MIN_MAX, "9.7.1.12", "8.0", 90, "max.relu.<s16x2|s32> d, a, b", "max>positive"),
          pure(MIN_MAX, "9.7.1.11", "8.0", 90, "min.u16x2 d, a, b", "minUnsigned"),
          pure(MIN_MAX, "9.7.1.12", "8.0", 90, "max.s16x2 d, a, b", "max"),
          pure(MIN_MAX, "9.7.1.12", "8.0", 90, "max.u16x2 d, a, b", "maxUnsigned"),

          // addition and subtraction with carry
          carry(ARITHMETIC, "9.7.2.1", "1.2", 20, "add.cc.<u32|s32> d, a, b", Carry.NONE, "add", "carry"),
          carry(OTHER, "9.7.2.2", "1.2", 20, "addc{1.cc}.<u32|s32> d, a, b", Carry.IN, "addCarry", "carry"),
          carry(ARITHMETIC, "9.7.2.1", "1.2", 20, "sub.cc.<u32|s32> d, a, b", Carry.NONE, "sub", "subCarry"),
          carry(OTHER, "9.7.2.2", "1.2", 20, "subc{1.cc}.<u32|s32> d, a, b", Carry.IN, "subWithCarry", "subCarry"),
          carry(ARITHMETIC, "9.7.2.1", "4.3", 20, "add.cc.<u64|s64> d, a, b", Carry.NONE, "add", "carry"),
          carry(OTHER, "9.7.2.2", "3.0", 20, "addc{1.cc}.<u64|s64> d, a, b", Carry.IN, "addCarry", "carry").optionSince(1, "4.3", 20),
          carry(ARITHMETIC, "9.7.2.1", "4.3", 20, "sub.cc.<u64|s64> d, a, b", Carry.NONE, "sub", "subCarry"),
          carry(OTHER, "9.7.2.2", "3.0", 20, "subc{1.cc}.<u64|s64> d, a, b", Carry.IN, "subWithCarry", "subCarry").optionSince(1, "4.3", 20),
          carry(MULTIPLY_ADD, "9.7.2.5", "3.0", 20, "mad.lo.cc.<u32|s32> d, a, b, c", Carry.NONE, "mad", "mulCarry"),
          carry(OTHER, "9.7.2.6", "3.0", 20, "madc.lo{1.cc}.<u32|s32> d, a, b, c", Carry.IN, "mulAddCarry", "mulCarry"),
          carry(MULTIPLY_ADD, "9.7.2.5", "3.0", 20, "mad.hi.cc.u32 d, a, b, c", Carry.NONE, "madHighUnsigned", "mulHighCarryUnsigned"),
          carry(OTHER, "9.7.2.6", "3.0", 20, "madc.hi{1.cc}.u32 d, a, b, c", Carry.IN, "mulHighAddCarryUnsigned", "mulHighCarryUnsigned"),
          carry(MULTIPLY_ADD, "9.7.2.5", "3.0", 20, "mad.hi.cc.s32 d, a, b, c", Carry.NONE, "madHigh", "mulHighCarry"),
          carry(OTHER, "9.7.2.6", "3.0", 20, "madc.hi{1.cc}.s32 d, a, b, c", Carry.IN, "mulHighAddCarry", "mulHighCarry"),
          carry(MULTIPLY_ADD, "9.7.2.5", "4.3", 20, "mad.lo.cc.<u64|s64> d, a, b, c", Carry.NONE, "mad", "mulCarry"),
          carry(OTHER, "9.7.2.6", "3.0", 20, "madc.lo{1.cc}.<u64|s64> d, a, b, c", Carry.IN, "mulAddCarry", "mulCarry").optionSince(1, "4.3", 20),
          carry(MULTIPLY_ADD, "9.7.2.5", "4.3", 20, "mad.hi.cc.u64 d, a, b, c", Carry.NONE, "madHighUnsigned", "mulHighCarryUnsigned"),
          carry(OTHER, "9.7.2.6", "3.0", 20, "madc.hi{1.cc}.u64 d, a, b, c", Carry.IN, "mulHighAddCarryUnsigned", "mulHighCarryUnsigned").optionSince(1, "4.3", 20),
          carry(MULTIPLY_ADD, "9.7.2.5", "4.3", 20, "mad.hi.cc.s64 d, a, b, c", Carry.NONE, "madHigh", "mulHighCarry"),
          carry(OTHER, "9.7.2.6", "3.0", 20, "madc.hi{1.cc}.s64 d, a, b, c", Carry.IN, "mulHighAddCarry", "mulHighCarry").optionSince(1, "4.3", 20),

          // bits and dot products
          pure("9.7.1.15", "2.0", 20, "popc.<b32|b64> d:u32, a", "countOnes"),
          pure("9.7.1.16", "2.0", 20, "clz.<b32|b64> d:u32, a", "leadingZeros"),
          pure("9.7.1.17", "2.0", 20, "bfind.<s32|s64> d:u32, a", "highestBit"),
          pure("9.7.1.17", "2.0", 20, "bfind.<u32|u64> d:u32, a", "highestBitUnsigned"),
          pure("9.7.1.17", "2.0", 20, "bfind.shiftamt.<s32|s64> d:u32, a", "shiftToTop"),
          pure("9.7.1.17", "2.0", 20, "bfind.shiftamt.<u32|u64> d:u32, a", "shiftToTopUnsigned"),
          pure("9.7.1.18", "5.1", 30, "fns.b32 d, a, b, c:s32", "findSetBit").undefined(Undefined.BASE_ABOVE_31),
          pure("9.7.1.19", "2.0", 20, "brev.<b32|b64> d, a", "reverse"),
          pure("9.7.1.20", "2.0", 20, "bfe.<s32|s64> d, a, b:u32(0..255), c:u32(0..255)", "extract"),
          pure("9.7.1.20", "2.0", 20, "bfe.<u32|u64> d, a, b:u32(0..255), c:u32(0..255)", "extractUnsigned"),
          pure("9.7.1.21", "2.0", 20, "bfi.<b32|b64> d, a, b, c:u32(0..255), e:u32(0..255)", "insert"),
          pure("9.7.1.22", "7.6", 70, "szext.wrap.s32 d, a, b:u32", "extendWrap"),
          pure("9.7.1.22", "7.6", 70, "szext.wrap.u32 d, a, b", "extendWrapUnsigned"),
          pure("9.7.1.22", "7.6", 70, "szext.clamp.s32 d, a, b:u32", "extendClamp"),
          pure("9.7.1.22", "7.6", 70, "szext.clamp.u32 d, a, b", "extendClampUnsigned"),
          pure("9.7.1.23", "7.6", 70, "bmsk.wrap.b32 d:u32, a:u32, b:u32", "maskWrap"),
          pure("9.7.1.23", "7.6", 70, "bmsk.clamp.b32 d:u32, a:u32, b:u32", "maskClamp"),
          pure("9.7.1.24", "5.0", 61, "dp4a.<u32|s32>.<u32|s32> d:u32, a:u32, b:u32, c:u32", "dot4"),
          pure("9.7.1.25", "5.0", 61, "dp2a.lo.<u32|s32>.<u32|s32> d:u32, a:u32, b:u32, c:u32", "dot2Low"),
          pure("9.7.1.25", "5.0", 61, "dp2a.hi.<u32|s32>.<u32|s32> d:u32, a:u32, b:u32, c:u32", "dot2High"),

          // logic and shifts
          pure(BITWISE_AND, "9.7.8.1",     "1.0", 20, "and.<pred|b16|b32|b64> d, a, b",                                    "and"),
          pure(BITWISE, "9.7.8.2",     "1.0", 20, "or.<pred|b16|b32|b64> d, a, b",                                     "or"),
          pure(BITWISE, "9.7.8.3",     "1.0", 20, "xor.<pred|b16|b32|b64> d, a, b",                                    "xor"),
          pure(BITWISE, "9.7.8.4",     "1.0", 20, "not.<pred|b16|b32|b64> d, a",                                       "not"),
          pure(BITWISE, "9.7.8.8",     "1.0", 20, "shl.bits d, a, b:u32",                                              "shl"),
          pure(SHIFT_RIGHT, "9.7.8.9",     "1.0", 20, "shr.sint d, a, b:u32",                                              "shr"),
          pure(SHIFT_RIGHT, "9.7.8.9",     "1.0", 20, "shr.<b16|b32|b64|u16|u32|u64> d, a, b:u32",                         "shrUnsigned"),
          pure("9.7.8.5", "1.0", 20, "cnot.bits d, a", "isZero"),
          pure("9.7.8.6", "4.3", 50, "lop3.b32 d, a, b, c, n:literal(0..255)", "lookUp"),
          pure("9.7.8.6", "8.2", 70, "lop3.<or|and>.b32 d|p:pred, a, b, c, n:literal(0..255), e:pred", "lookUp>first", "lookUp>isNotZero>combine"),
          pure("9.7.8.7", "3.1", 32, "shf.l.wrap.b32 d, a, b, c:u32", "funnelLeftWrap"),
          pure("9.7.8.7", "3.1", 32, "shf.l.clamp.b32 d, a, b, c:u32", "funnelLeftClamp"),
          pure("9.7.8.7", "3.1", 32, "shf.r.wrap.b32 d, a, b, c:u32", "funnelRightWrap"),
          pure("9.7.8.7", "3.1", 32, "shf.r.clamp.b32 d, a, b, c:u32", "funnelRightClamp"),
          pure("9.7.9.7", "2.0", 20, "prmt.b32 d, a, b, c", "permute"),
          pure("9.7.9.7", "2.0", 20, "prmt.b32.f4e d, a, b, c", "permuteForward"),
          pure("9.7.9.7", "2.0", 20, "prmt.b32.b4e d, a, b, c", "permuteBackward"),
          pure("9.7.9.7", "2.0", 20, "prmt.b32.rc8 d, a, b, c", "permuteReplicate8"),
          pure("9.7.9.7", "2.0", 20, "prmt.b32.ecl d, a, b, c", "permuteClampLeft"),
          pure("9.7.9.7", "2.0", 20, "prmt.b32.ecr d, a, b, c", "permuteClampRight"),
          pure("9.7.9.7", "2.0", 20, "prmt.b32.rc16 d, a, b, c", "permuteReplicate16"));
  // spotless:on

  private IntegerRows() {}
}
