import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LegacyProgram, NfDescriptor } from '@orrery/contract';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { VETH_PREFIX, vethLinks } from '../veth-names.js';
import { fill } from './program-files.js';
import { figuresIn } from './program-report.js';
import { loadProcessNfs } from './registry.js';

it('knows the legacy NFs that come with the agent, each with what it runs', () => {
  const nfs = loadProcessNfs();
  expect(nfs.map(({ nf }) => nf)).toEqual(['http-proxy', 'legacy-forwarder', 'nftables-firewall', 'tcpdump-tap']);
  for (const { nf, directory } of nfs) {
    const descriptor = NfDescriptor.parse(JSON.parse(readFileSync(join(directory, 'descriptor.json'), 'utf8')));
    expect([nf, descriptor.id]).toEqual([nf, nf]);
  }
});

it('names the field of a bad description', () => {
  const folder = scratchDirectory();
  mkdirSync(join(folder, 'bad'));
  writeFileSync(join(folder, 'bad', 'descriptor.json'), '{"id":"bad"}');
  expect(() => loadProcessNfs(folder)).toThrow('/title');
});

it('fills placeholders in words and files; an empty word is left out, a list is one line an item', () => {
  const program = LegacyProgram.parse({
    forwarding: 'bridge',
    setup: [['run', '--in={{near}}', '{{extra}}', '{{unknown}}']],
    files: [{ name: 'rules', content: '{{rules}}\n{{n}} {{dir}}' }],
    preserves: [],
  });
  const config = { extra: '', rules: ['a', 'b'], n: 3, near: 'mine' };
  const { setup, command, files } = fill(program, config, '/d', null);
  expect([setup, command, files]).toEqual([
    [['run', '--in=near', '{{unknown}}']],
    null,
    [{ name: 'rules', content: 'a\nb\n3 /d' }],
  ]);
});

it('reads figures from a report, as many as are shown, and leaves out other lines', () => {
  expect(figuresIn('hits = 3\nshare = -0.5\n\nuptime = long\n = 4\nhits: 5\nx=1\n')).toEqual({ hits: 3, share: -0.5 });
  const many = Array.from({ length: 100 }, (_, i) => `n${i} = ${i}`).join('\n');
  expect(Object.keys(figuresIn(many)).length).toBe(64);
});

it('gives each instance interface names of its own that the kernel accepts', () => {
  const names = ['a.b.0', 'a.b.1'].flatMap((id) => {
    const { near, far } = vethLinks(id);
    return [near.engine, near.nf, far.engine, far.nf];
  });
  expect(new Set(names).size).toBe(8);
  for (const name of names) {
    expect(name.length).toBeLessThanOrEqual(15);
    expect(name.startsWith(VETH_PREFIX)).toBe(true);
  }
});
