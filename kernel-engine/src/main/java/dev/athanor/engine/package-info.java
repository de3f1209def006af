/** The kernel engine: PTX, kernel authoring, and the devices that run kernels. */
@NullMarked
package dev.athanor.engine;

import org.jspecify.annotations.NullMarked;
