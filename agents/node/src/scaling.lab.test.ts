import { expect, it } from 'vitest';
import { Lab, labMissing } from './testing/lab.js';
import { splitChain } from './testing/specs.js';

const missing = labMissing();

const FIRST = 6000;
const FLOWS = 40;
const ONE: Parameters<typeof splitChain>[1] = [['lin.mon.0', 0, 65_536]];
const TWO: Parameters<typeof splitChain>[1] = [
  ['lin.mon.0', 0, 32_768],
  ['lin.mon.1', 32_768, 65_536],
];

it.skipIf(missing !== null)(
  `flows in progress stay at their instance when it is split, and when the other one goes again${missing ? ` (${missing})` : ''}`,
  { timeout: 90_000 },
  async () => {
    const lab = new Lab();
    await lab.setUp();
    lab.startAgent();
    await lab.server.next('hello');
    const apply = async (generation: number, ranges: Parameters<typeof splitChain>[1]) => {
      lab.server.send({ type: 'desired', spec: splitChain(generation, ranges) });
      await lab.server.next(
        'observed',
        ({ observed }) => observed.state === 'converged' && observed.generation === generation,
        25_000,
      );
    };
    let calls = 0;
    const counted = async (instance_id: string) => {
      const id = `call-${calls++}`;
      lab.server.send({ type: 'call', id, method: 'get_instance_state', instance_id, params: {} });
      const { result } = await lab.server.next('reply', (reply) => reply.id === id);
      const { flows } = result as { flows: { src_port: number; packets: number }[] };
      return new Map(flows.map(({ src_port, packets }) => [src_port, packets]));
    };
    const send = async (sport: number) =>
      expect(await lab.exchange({ hop: 1, count: FLOWS, expect: FLOWS, sport })).toHaveLength(FLOWS);
    const old = Array.from({ length: FLOWS }, (_, i) => FIRST + i);
    const newer = FIRST + 1000;

    await apply(1, ONE);
    await send(FIRST);
    await apply(2, TWO);
    await send(FIRST);
    expect(await counted('lin.mon.0')).toEqual(new Map(old.map((port) => [port, 2])));
    expect((await counted('lin.mon.1')).size).toBe(0);

    await send(newer);
    const moved = [...(await counted('lin.mon.1')).keys()];
    expect(moved.length).toBeGreaterThan(FLOWS / 8);
    expect(moved.every((port) => port >= newer)).toBe(true);

    await apply(3, ONE);
    await send(FIRST);
    await send(newer);
    const left = await counted('lin.mon.0');
    expect(old.map((port) => left.get(port))).toEqual(old.map(() => 3));
    expect(moved.map((port) => left.get(port))).toEqual(moved.map(() => 1));
  },
);
