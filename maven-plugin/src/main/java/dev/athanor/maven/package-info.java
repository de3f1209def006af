/** Checks kernels in Java when Maven builds a project. */
@NullMarked
package dev.athanor.maven;

import org.jspecify.annotations.NullMarked;
