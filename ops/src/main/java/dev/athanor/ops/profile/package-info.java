/** Profiles of ops, counted by the emulator. */
@NullMarked
package dev.athanor.ops.profile;

import org.jspecify.annotations.NullMarked;
