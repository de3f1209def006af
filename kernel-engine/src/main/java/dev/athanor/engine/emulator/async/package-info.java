/** Asynchronous instructions: copies, mbarriers, bulk and tensor transfers, warpgroup products. */
@NullMarked
package dev.athanor.engine.emulator.async;

import org.jspecify.annotations.NullMarked;
