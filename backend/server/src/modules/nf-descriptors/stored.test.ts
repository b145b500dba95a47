import { readFileSync } from 'node:fs';
import { NfDescriptor } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { decodeEntry, encodeEntry } from '../../platform/durable-collection/entry.js';
import { STORED_DESCRIPTORS } from './stored.js';

const SHIPPED = '../../../../../agents/node/process-nfs/nftables-firewall/descriptor.json';
const nf = NfDescriptor.parse({
  ...(JSON.parse(readFileSync(new URL(SHIPPED, import.meta.url), 'utf8')) as object),
  id: 'my-firewall',
});
const { actions } = nf;
const about = { by: 'me', updated_ms: 1 };

/** Of an NF that an earlier version stored so. */
function read(differs: object, version = 1) {
  const text = JSON.stringify({ version, revision: 3, value: { descriptor: { ...nf, ...differs }, ...about } });
  return decodeEntry(STORED_DESCRIPTORS, nf.id, text);
}

describe('a described NF that an earlier version stored', () => {
  it.each<[string, object, object]>([
    ['as it may be now', {}, {}],
    ['without an icon', { icon: '' }, { icon: 'box' }],
    ['with an icon that no console has', { icon: 'Shield' }, { icon: 'box' }],
    ['with a blank title', { title: '  ' }, { title: nf.id }],
    ['with blanks around its title', { title: ' Mine ' }, { title: 'Mine' }],
    ['with a blank summary', { summary: '\n ' }, { summary: '' }],
    ['with a long version', { version: '1.0000000002.12345678901' }, { version: '1.2.999999999' }],
    [
      'with a field many times',
      { actions: { ...actions, reads: Array(20).fill('payload') } },
      { actions: { ...actions, reads: ['payload'] } },
    ],
    [
      'that answers packets and drops none',
      { return_traffic: true, actions: { ...actions, may_drop: false, answers: true } },
      { return_traffic: true, actions: { ...actions, may_drop: true, answers: true } },
    ],
    [
      'that changes lengths and neither adds nor removes bytes',
      { actions: { ...actions, writes: ['length', 'payload'] } },
      { actions: { ...actions, writes: ['length', 'payload'], adds: ['length'], removes: ['length'] } },
    ],
  ])('%s stays in the catalogue', (_, stored, now) => {
    for (const version of [1, 2])
      expect(read(stored, version)).toEqual({ revision: 3, value: { descriptor: { ...nf, ...now }, ...about } });
  });

  it('is refused still where it never was one', () => {
    expect(() => read({ title: 7 })).toThrow('title');
    expect(() => read({ version: 'one' })).toThrow('version');
  });

  it('is written as it is now', () => {
    const entry = read({ icon: 'Shield' });
    const text = encodeEntry(STORED_DESCRIPTORS, entry);
    expect(JSON.parse(text)).toMatchObject({ version: 3 });
    expect(decodeEntry(STORED_DESCRIPTORS, nf.id, text)).toEqual(entry);
  });
});
