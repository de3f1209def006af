package dev.athanor.engine.ptx.flow;

import dev.athanor.engine.ptx.Operand.Register;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Numbers the registers of a kernel, so that a set of registers is a bit set. */
public final class RegisterIndex {

  private final List<Register> registers;
  private final Map<Register, Integer> numbers = new HashMap<>();

  /** Numbers distinct registers in their order, from 0. */
  public RegisterIndex(Collection<Register> registers) {
    this.registers = List.copyOf(registers);
    this.registers.forEach(register -> numbers.put(register, numbers.size()));
  }

  public int size() {
    return registers.size();
  }

  public boolean contains(Register register) {
    return numbers.containsKey(register);
  }

  /** Returns the number of a register of this index. */
  public int number(Register register) {
    return Objects.requireNonNull(numbers.get(register), register::toString);
  }

  Register register(int number) {
    return registers.get(number);
  }

  /** Returns the numbers of registers of this index. */
  int[] numbers(Collection<Register> some) {
    return some.stream().mapToInt(this::number).toArray();
  }

  /** Returns the registers of a set, by ascending number. */
  List<Register> registers(BitSet set) {
    return set.stream().mapToObj(registers::get).toList();
  }
}
