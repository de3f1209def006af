/** What a kernel did, counted while the emulator ran it, and what that costs a GPU at least. */
@NullMarked
package dev.athanor.engine.profile;

import org.jspecify.annotations.NullMarked;
