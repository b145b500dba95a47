import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const BAR_KB = 250;
const dist = new URL('../dist/', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', dist), 'utf8'));

/** What the browser loads before it can show a page: the entry and everything it imports statically. */
const files = new Set();
const visit = (name) => {
  const chunk = manifest[name];
  if (files.has(chunk.file)) return;
  files.add(chunk.file);
  for (const child of chunk.imports ?? []) visit(child);
};
visit('index.html');

const kb = [...files].reduce((sum, file) => sum + gzipSync(readFileSync(new URL(file, dist))).length, 0) / 1000;
console.log(`first JavaScript: ${kb.toFixed(1)} kB gzip in ${files.size} files (bar: ${BAR_KB} kB)`);
if (kb > BAR_KB) process.exit(1);
