/** Models as graphs of ops. */
@NullMarked
package dev.athanor.models;

import org.jspecify.annotations.NullMarked;
