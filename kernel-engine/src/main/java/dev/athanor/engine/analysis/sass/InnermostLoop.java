package dev.athanor.engine.analysis.sass;

/**
 * A loop that has no other loop in it, except those that only wait for an mbarrier. Its
 * instructions are counted once each, also those that a branch within the loop can skip, and
 * without the slow paths of collectives of diverged warps.
 *
 * @param start address of the header, bytes from the start of the kernel's code
 * @param end address behind the last instruction of the loop
 * @param blocks basic blocks; 1 if nothing in it branches
 */
public record InnermostLoop(int start, int end, int blocks, InstructionCounts instructions) {}
