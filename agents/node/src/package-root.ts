import { fileURLToPath } from 'node:url';

/** Folder of this package, from its sources, its modules and its bundle alike (with a final slash). */
export const PACKAGE_ROOT = fileURLToPath(new URL('..', import.meta.url));
