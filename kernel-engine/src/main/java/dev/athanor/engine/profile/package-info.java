/** Profiles of kernels on the emulator, and lower bounds of their time on a GPU. */
@NullMarked
package dev.athanor.engine.profile;

import org.jspecify.annotations.NullMarked;
