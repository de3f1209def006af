/** Tests of the Helm chart. */
@NullMarked
package dev.athanor.deploy;

import org.jspecify.annotations.NullMarked;
