import { readFileSync } from 'node:fs';
import { Infrastructure } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { infrastructureErrors } from './validate.js';

const EXAMPLE = new URL('../../../../contract/examples/valid/Infrastructure.board-at-switch.json', import.meta.url);

function errorsOf(change: (it: Infrastructure) => void = () => undefined) {
  const it = Infrastructure.parse(JSON.parse(readFileSync(EXAMPLE, 'utf8')));
  change(it);
  return infrastructureErrors(it).map(({ pointer, code }) => `${pointer} ${code}`);
}
const linkOf = ({ links }: Infrastructure, port: string) => links.find(({ a }) => a.port === port)!;

describe('a board whose ports hang on a switch', () => {
  it('is taken with a link for each of its ports', () => {
    expect(errorsOf()).toEqual([]);
  });

  it.each<[string, (it: Infrastructure) => void, string]>([
    ['a port without a link', (it) => it.links.pop(), '/boards/0/attached missing-link'],
    ['a slot without links', (it) => (it.boards[0]!.slots = 2), '/boards/0/attached missing-link'],
    ['two links at a port', (it) => (linkOf(it, 'far0').a.port = 'near0'), '/links/2/a/port port-in-use'],
    ['a port that it has not', (it) => (linkOf(it, 'far0').a.port = 'far1'), '/links/2/a/port unknown-port'],
    [
      'a link to a server',
      (it) => (linkOf(it, 'far0').b = { node: 'server-1', port: 'nic0' }),
      '/links/2/b/node not-a-switch',
    ],
    ['a switch with a program of its own', (it) => (it.switches[0]!.program = 'router'), '/links/1/b/node own-program'],
    [
      'links of a board beside an engine',
      (it) => (it.boards[0]!.attached = 'server'),
      '/links/1/a/node attached-to-server',
    ],
    ['the name of a server', (it) => (it.boards[0]!.id = 'server-1'), '/boards/0/id duplicate-id'],
  ])('is refused with %s, by the field', (_, change, expected) => {
    expect(errorsOf(change)).toContain(expected);
  });
});
