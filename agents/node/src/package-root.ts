import { fileURLToPath } from 'node:url';

/** Folder of this package, for its sources, its compiled modules and its bundle alike (with a trailing slash). */
export const PACKAGE_ROOT = fileURLToPath(new URL('..', import.meta.url));
