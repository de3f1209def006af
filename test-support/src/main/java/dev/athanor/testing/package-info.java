/** What the tests of all modules share: tiers, seeds, required programs, detection of hangs. */
@NullMarked
package dev.athanor.testing;

import org.jspecify.annotations.NullMarked;
