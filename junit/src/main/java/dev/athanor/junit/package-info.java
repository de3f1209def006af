/** Tests GPU kernels with JUnit, on the emulator with its sanitizer and on a GPU. */
@NullMarked
package dev.athanor.junit;

import org.jspecify.annotations.NullMarked;
