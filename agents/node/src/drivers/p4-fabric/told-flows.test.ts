import { expect, it } from 'vitest';
import { canonicalBytes } from '../p4runtime/bytes.js';
import type { DigestList } from '../p4runtime/messages.js';
import { WaitingFlows } from './told-flows.js';

function list(listId: number, flows: readonly number[]): DigestList {
  const data = flows.map((flow) => {
    const values = [7, flow, 0x0a00_0001, 0x0a00_0002, 17, 0x020e_0001_0000, 2];
    return { struct: { members: values.map((value) => ({ bitstring: canonicalBytes(value) })) } };
  });
  return { digestId: 1, listId: String(listId), data };
}
const from = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

it('has each flow once, however often it is told before it is taken', () => {
  const waiting = new WaitingFlows();
  waiting.add(list(1, [1, 2]));
  for (let again = 0; again < 1000; again++) waiting.add(list(2, [1, 2]));
  waiting.add(list(3, [2, 3, 3]));
  const taken = waiting.take();
  expect(taken.map(({ list: of, flows }) => [of?.listId, flows.map(({ flow_id }) => Number(flow_id))])).toEqual([
    ['1', [1, 2]],
    ['3', [3]],
  ]);
  expect(taken[0]!.flows[0]).toEqual({
    ...{ split: 7n, flow_id: 1n, ip_src: 0x0a00_0001n, ip_dst: 0x0a00_0002n },
    ...{ ip_proto: 17n, mac: 0x020e_0001_0000n, port: 2n },
  });
  expect(waiting.isEmpty).toBe(true);
  waiting.add(list(4, [1]));
  expect(waiting.take()).toHaveLength(1);
});

it('takes no more than one write does: the rest is counted, and its list not to be acknowledged', () => {
  const waiting = new WaitingFlows();
  for (let at = 0; at < 4; at++) waiting.add(list(at, from(at * 600, 600)));
  const taken = waiting.take();
  expect(taken.map(({ list: of, flows }) => [of?.listId, flows.length])).toEqual([
    ['0', 600],
    ['1', 600],
    ['2', 600],
    [undefined, 200],
  ]);
  expect(waiting.refused).toBe(400);
});

it('leaves out what is no flow', () => {
  const waiting = new WaitingFlows();
  waiting.add({ digestId: 1, listId: '1', data: [{ struct: { members: [] } }, {}] });
  waiting.add({ digestId: 1, listId: '2' });
  expect(waiting.isEmpty).toBe(true);
});
