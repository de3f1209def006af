/** Rules that replace steps of graphs by fewer steps of the same results. */
@NullMarked
package dev.athanor.models.fusion;

import org.jspecify.annotations.NullMarked;
