/** What lies around the application: the chart, the scripts. */
@NullMarked
package dev.athanor.deploy;

import org.jspecify.annotations.NullMarked;
