import { mkdir, writeFile } from 'node:fs/promises';
import { artefacts } from './artefacts.js';

const folder = new URL('../../generated/', import.meta.url);
await mkdir(folder, { recursive: true });
for (const [name, text] of artefacts()) await writeFile(new URL(name, folder), text);
