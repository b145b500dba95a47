import { build } from 'esbuild';

// One file starts in a third of the time that the module tree takes; in the twin, several agents share a machine.
await build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/agent.mjs',
  bundle: true,
  minify: true,
  keepNames: true,
  sourcemap: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  external: ['bufferutil', 'utf-8-validate'],
  banner: {
    js: "#!/usr/bin/env node\nimport { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});

// A separate program, which outlives its agent.
await build({
  entryPoints: ['src/drivers/application/http-server/program.ts'],
  outfile: 'dist/http-server.mjs',
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  logLevel: 'warning',
});
