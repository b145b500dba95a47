import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BoardModule } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Config, configFrom } from '../../platform/config.js';
import type { Log } from '../../platform/log.js';
import { loadCatalogue } from '../nf-descriptors/catalogue.js';
import { ModuleLibrary } from './module-library.js';

const shipped = configFrom({});
const { descriptors } = await loadCatalogue(shipped.catalogue);

let synthesis: string;
beforeEach(() => {
  synthesis = mkdtempSync(join(tmpdir(), 'orrery-modules-'));
  cpSync(shipped.synthesis, synthesis, { recursive: true });
});
afterEach(() => rmSync(synthesis, { recursive: true }));

async function load() {
  const warnings: { file: string; problem: string }[] = [];
  const log = { warn: (about: { file: string; problem: string }) => warnings.push(about) } as unknown as Log;
  const catalogue = { all: () => descriptors, find: (id: string) => descriptors.find((it) => it.id === id) };
  const library = new ModuleLibrary({ ...shipped, synthesis } as Config, log, catalogue);
  await library.onModuleInit();
  return { modules: library.modules, warnings };
}

it('lists the synthesis figures of every module next to the published ones', async () => {
  const { modules, warnings } = await load();
  expect(warnings).toEqual([]);
  for (const module of modules) expect(BoardModule.parse(module)).toEqual(module);
  const named = Object.keys(JSON.parse(readFileSync(join(synthesis, 'modules.json'), 'utf8')) as object);
  expect(modules.map(({ id }) => id)).toEqual(expect.arrayContaining(named));
  expect(modules.filter(({ id, title }) => id === title)).toEqual([]);
  expect(modules.map(({ id }) => id)).not.toContain('shell');
  expect(modules.find(({ id }) => id === 'nat')).toMatchObject({
    title: 'NAT',
    nf: 'nat',
    published: { source: 'CoNFV Table I, Stratix V', lut: 56_345, ff: 59_637, bram_kib: 2222 },
  });
  expect(modules.find(({ id }) => id === 'aes-ctr')).toMatchObject({ title: 'AES-CTR', nf: null, published: null });
});

it('skips an invalid file and names it', async () => {
  const before = (await load()).modules;
  writeFileSync(join(synthesis, 'results/nf_nat.json'), '{');
  writeFileSync(join(synthesis, 'modules.json'), JSON.stringify({ nat: { published: { lut: -1 } } }));
  const { modules, warnings } = await load();
  expect(modules.map(({ id }) => id)).toEqual(before.map(({ id }) => id).filter((id) => id !== 'nat'));
  expect(modules.every(({ published }) => published === null)).toBe(true);
  expect(warnings.map(({ file }) => file)).toEqual([
    join(synthesis, 'modules.json'),
    join(synthesis, 'results/nf_nat.json'),
  ]);
  expect(warnings[0]!.problem).toContain('nat.published.lut');
});
