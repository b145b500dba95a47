import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { artefacts } from './artefacts.js';

const root = new URL('../../', import.meta.url);
const { version } = JSON.parse(await readFile(new URL('package.json', root), 'utf8')) as { version: string };
await mkdir(new URL('generated/', root), { recursive: true });
for (const [name, text] of artefacts(version)) await writeFile(new URL(`generated/${name}`, root), text);
