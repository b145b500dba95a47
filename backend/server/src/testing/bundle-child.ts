import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Beside `dist/main.js`'s modules, so that paths from the package's root stay. */
export const CHILD = fileURLToPath(new URL('../../dist/testing/child.mjs', import.meta.url));

/** Packages that others load if they are there, and one that looks for files beside its own. */
const EXTERNAL = [
  '@fastify/view',
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  'bufferutil',
  'class-transformer',
  'class-validator',
  'highs',
  'utf-8-validate',
];

/** One file in place of two thousand, since tests of kills start a server hundreds of times. Before all tests, because none may start from a file that is being written. */
export default async function setUp(): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL('child-main.mjs', import.meta.url))],
    outfile: CHILD,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: EXTERNAL,
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    logLevel: 'error',
  });
}
