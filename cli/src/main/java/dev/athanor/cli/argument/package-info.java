/** What commands take: devices, ops, kernels and tensor files, and what is said of bad use. */
@NullMarked
package dev.athanor.cli.argument;

import org.jspecify.annotations.NullMarked;
