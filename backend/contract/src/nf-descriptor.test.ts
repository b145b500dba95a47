import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { fieldErrors } from './field-errors.js';
import { NfDescriptor } from './nf-descriptor.js';

const SHIPPED = '../../../agents/node/process-nfs/nftables-firewall/descriptor.json';
const shipped = JSON.parse(readFileSync(new URL(SHIPPED, import.meta.url), 'utf8')) as { actions: object };

function wrongWith(differs: object): string[] {
  const read = NfDescriptor.safeParse({ ...shipped, actions: { ...shipped.actions, ...differs } });
  return read.success ? [] : fieldErrors(read.error).map(({ pointer }) => pointer);
}

it('takes no NF that answers packets and drops none', () => {
  expect(wrongWith({ answers: true, may_drop: true })).toEqual([]);
  expect(wrongWith({ answers: false, may_drop: false })).toEqual([]);
  expect(wrongWith({ answers: true, may_drop: false })).toEqual(['/actions/answers']);
});

it('takes no NF that changes lengths and neither adds nor removes bytes', () => {
  expect(wrongWith({ writes: ['payload', 'length'], removes: ['payload'] })).toEqual([]);
  expect(wrongWith({ writes: ['payload', 'length'] })).toEqual(['/actions/writes/1']);
});
