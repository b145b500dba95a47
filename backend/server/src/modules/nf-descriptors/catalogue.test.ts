import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadCatalogue } from './catalogue.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync('/tmp/orrery-t-');
});
afterEach(() => rmSync(folder, { recursive: true }));

const example = fileURLToPath(new URL('../../../../contract/examples/valid/NfDescriptor.ids.json', import.meta.url));
const describeNf = (name: string, change: Record<string, unknown> = {}) => {
  mkdirSync(join(folder, name), { recursive: true });
  const content = { ...JSON.parse(readFileSync(example, 'utf8')), id: name, ...change };
  writeFileSync(join(folder, name, 'descriptor.json'), JSON.stringify(content));
};

describe('loadCatalogue', () => {
  it('reads each NF of each folder, by name', async () => {
    describeNf('b');
    describeNf('a');
    mkdirSync(join(folder, 'no-nf'));
    const { descriptors, problems } = await loadCatalogue([folder]);
    expect([descriptors.map(({ id }) => id), problems]).toEqual([['a', 'b'], []]);
  });

  it('has NFs whose accelerated mode is a choice of their configuration', async () => {
    const shipped = fileURLToPath(new URL('../../../../../agents/nfs', import.meta.url));
    const { descriptors, problems } = await loadCatalogue([shipped]);
    expect(problems).toEqual([]);
    const switched = descriptors.filter(({ acceleration }) => acceleration);
    expect(switched.map(({ id }) => id)).toContain('crypto-tunnel');
    for (const { acceleration, config_schema } of switched) {
      const { setting, accelerated, plain } = acceleration!;
      const choices = (config_schema.properties as Record<string, { enum?: unknown[] }>)[setting]?.enum;
      expect(new Set(choices)).toEqual(new Set([accelerated, plain]));
    }
  });

  it('reports an invalid descriptor and loads the others', async () => {
    describeNf('good');
    describeNf('bad', { version: 'one', colour: 'red' });
    describeNf('twin', { id: 'good' });
    mkdirSync(join(folder, 'broken'));
    writeFileSync(join(folder, 'broken/descriptor.json'), '{');
    const { descriptors, problems } = await loadCatalogue([folder, '/nowhere']);
    expect(descriptors.map(({ id }) => id)).toEqual(['good']);
    expect(problems).toEqual([
      expect.stringMatching(/bad\/descriptor\.json: \/version .*; \/colour is not a known field/),
      expect.stringMatching(/broken\/descriptor\.json: /),
      expect.stringMatching(/twin\/descriptor\.json: duplicate NF "good"/),
      expect.stringMatching(/^\/nowhere: /),
    ]);
  });
});

const product = (path: string) => fileURLToPath(new URL(`../../../../../${path}`, import.meta.url));

it('every reason for which an NF of the product refuses packets is one that its code counts', async () => {
  const { descriptors } = await loadCatalogue([product('agents/nfs')]);
  const onBoards = readFileSync(product('agents/node/src/drivers/board/registers.ts'), 'utf8');
  const refusing = descriptors.filter(({ actions }) => actions.refuses);
  expect(refusing.map(({ id }) => id)).toContain('firewall');
  for (const { id, actions } of refusing) {
    const inSoftware = readFileSync(product(`agents/nfs/${id}/${id.replaceAll('-', '_')}_core.cc`), 'utf8');
    const [, reasons] = /kDropReasons\[\] = \{([^}]*)\}/.exec(inSoftware)!;
    const [, drops = ''] =
      new RegExp(`nf_${id.replaceAll('-', '_')}: \\{[^]*?drops: \\[([^\\]]*)\\]`).exec(onBoards) ?? [];
    for (const reason of actions.refuses!) expect(`${reasons} ${drops}`).toMatch(new RegExp(`["']${reason}["']`));
  }
});

it('no NF of the product calls a lack of room, in software or on a board, a refusal', async () => {
  const { descriptors } = await loadCatalogue([product('agents/nfs')]);
  const refused = new Map(descriptors.map(({ id, actions }) => [id, actions.refuses ?? []]));
  const lacks = ['no_port', 'no-translation', 'miss-buffer-full', 'table-full', 'table_full', 'queue_full', 'OVERSIZE'];
  expect(refused.get('nat')).toContain('no_mapping');
  for (const [id, reasons] of refused)
    expect([id, reasons.filter((reason) => lacks.includes(reason))]).toEqual([id, []]);
});
