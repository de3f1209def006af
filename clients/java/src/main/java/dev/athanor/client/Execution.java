package dev.athanor.client;

/**
 * Where an operation ran.
 *
 * @param device the ID of the device, such as {@code cuda:0}
 * @param kernel the kernel variant
 */
public record Execution(String device, String kernel) {}
