import { expect, it } from 'vitest';
import { UnkeptFlows } from './unkept-flows.js';

it('tells of flows that are not kept at most once a minute, each packet once', () => {
  const told: object[] = [];
  const unkept = new UnkeptFlows((message, data) => told.push({ message, ...data }));
  unkept.take({}, 0);
  unkept.take({ full: 3 }, 1000);
  unkept.take({ full: 5, refused: 1 }, 2000);
  unkept.take({ full: 7, refused: 1 }, 61_000);
  unkept.take({ full: 7, refused: 1 }, 200_000);
  expect(told).toEqual([
    { message: 'Flows that began are not kept, by packets (3: full)', packets: { full: 3 } },
    { message: 'Flows that began are not kept, by packets (4: full; 1: refused)', packets: { full: 4, refused: 1 } },
  ]);
});
