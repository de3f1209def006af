/** What instructions compute: lane functions, number formats, and the sums of tensor cores. */
@NullMarked
package dev.athanor.engine.ptx.meaning;

import org.jspecify.annotations.NullMarked;
