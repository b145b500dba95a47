import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NfDescriptor } from '@orrery/contract';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { VETH_PREFIX, vethLinks } from '../veth-names.js';
import { commandOf, loadProcessNfs } from './registry.js';

it('knows the process NFs that come with the agent, each with its descriptor', () => {
  const nfs = loadProcessNfs();
  expect(nfs.map(({ nf }) => nf)).toEqual(['legacy-forwarder']);
  for (const { nf, directory } of nfs) {
    const descriptor = NfDescriptor.parse(JSON.parse(readFileSync(join(directory, 'descriptor.json'), 'utf8')));
    expect(descriptor.id).toBe(nf);
    expect(descriptor.implementations.map(({ driver }) => driver)).toContain('process');
  }
});

it('inserts interfaces and paths into the command', () => {
  const nf = { nf: 'x', command: ['run', '{dir}/x', '--io={near},{far}', '{config}', '{other}'], directory: '/d' };
  expect(commandOf(nf, 'n0', 'f0', '/c.json')).toEqual(['run', '/d/x', '--io=n0,f0', '/c.json', '{other}']);
});

it('names the field of a bad description', () => {
  const folder = scratchDirectory();
  mkdirSync(join(folder, 'bad'));
  writeFileSync(join(folder, 'bad', 'process.json'), '{"nf":"bad","command":[]}');
  expect(() => loadProcessNfs(folder)).toThrow('/command');
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
