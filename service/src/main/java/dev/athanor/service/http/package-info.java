/** HTTP below the controllers: connections, request bodies, authentication, problems. */
@NullMarked
package dev.athanor.service.http;

import org.jspecify.annotations.NullMarked;
