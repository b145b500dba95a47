import type { NfSplit } from '@orrery/contract';
import { expect, it } from 'vitest';
import { lastSplitChange } from './split-changes.js';

const operation = (splits: NfSplit[] | undefined, from_version: number | null = 1, state = 'COMPLETED') =>
  ({
    state,
    updated_ms: 5,
    by: 'ann',
    chains: [{ chain_id: 'c', from_version, to_version: 1 }],
    request: { chains: [{ chain_id: 'c', ...(splits ? { splits } : {}) }] },
  }) as never;
const off: NfSplit = { node_id: 'ids', keep_flows: null };
const on: NfSplit = { node_id: 'ids', keep_flows: { capacity: 5, idle_timeout_s: 5 } };

it('finds what was asked before the last change, or that nothing was', () => {
  expect(lastSplitChange([operation([on]), operation(undefined), operation([off])], 'c', 'ids')?.before).toEqual(off);
  expect(lastSplitChange([operation([on]), operation(undefined, null)], 'c', 'ids')?.before).toEqual({
    node_id: 'ids',
  });
});

it('knows of none where another change came after it, where it did not come about, or where the start is not listed', () => {
  expect(lastSplitChange([operation(undefined), operation([on])], 'c', 'ids')).toBeNull();
  expect(lastSplitChange([operation([on], 1, 'FAILED'), operation(undefined, null)], 'c', 'ids')).toBeNull();
  expect(lastSplitChange([operation([on])], 'c', 'ids')).toBeNull();
  expect(lastSplitChange([operation([on]), operation([off])], 'c', 'another')).toBeNull();
});

it('leaves changes of the number of instances to who made them', () => {
  const scaled = { ...on, instances: 3 };
  expect(lastSplitChange([operation([scaled]), operation([off])], 'c', 'ids')).toBeNull();
  expect(lastSplitChange([operation([off]), operation([scaled])], 'c', 'ids')?.before).toEqual(on);
});
