import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { ModelSlot } from '../../../testing/boards/model-slot.js';
import { until } from '../../../testing/scratch.js';
import { field } from '../fields.js';
import { COMMON_REGISTERS } from '../registers.js';
import { addressNumber } from './addresses.js';
import type { SlotAccess } from './module-adapter.js';
import { nat } from './nat.js';
import type { NatSession } from './nat-session.js';
import { PortPools } from './port-pools.js';

const EXTERNAL = addressNumber('198.18.0.1');
const INSIDE = addressNumber('10.0.0.1');
const TCP = 6;
const config = { external_addresses: ['198.18.0.1'], port_lo: 2000, port_hi: 2009, idle_timeout_s: 60 };

async function begin(over: object = {}, model = new ModelSlot('nat'), fresh = true) {
  const puts: number[] = [];
  const deletes: number[][] = [];
  const afterExport = vi.fn();
  const slot: SlotAccess = {
    instance_id: 'p.nat.0',
    readRegisters: async (addresses) => addresses.map((address) => model.read(address)),
    writeRegisters: async (writes) => {
      for (const [address, value] of writes) model.write(address, value);
      const { address, fields } = COMMON_REGISTERS.TABLE_COMMAND;
      const operation = writes.find(([to]) => to === address)?.[1] ?? 0;
      if (field(fields.OPERATION, operation) === 3) deletes.push(writes.slice(0, 4).map(([, value]) => value));
    },
    exportTable: async () => {
      const entries = model.entries.map((entry) => [...entry]);
      afterExport();
      return entries;
    },
    importTable: async (entries) => {
      puts.push(entries.length);
      return entries.filter((entry) => !model.put([...entry])).length;
    },
    alert: () => {},
  };
  const session = (await nat.begin(slot, { ...config, ...over }, fresh)) as NatSession;
  const miss = (port: number, protocol = TCP, address = INSIDE) =>
    session.event([1, address, 0x08080808, port * 65536 + 443, protocol, 0, 0, 0]);
  return { session, model, puts, deletes, miss, afterExport };
}

const ends = (model: ModelSlot) => model.entries.map(([, , ports]) => [ports! >>> 16, ports! & 0xffff]);

describe('NAT on a board', () => {
  it('refuses a mode that the module does not have, by name', () => {
    expect(() => nat.configure({ ...config, mode: 'dynamic', max_peers: 5 })).not.toThrow();
    expect(() => nat.configure({ ...config, mode: 'port-restricted' })).toThrow(
      /mode.*a board translates in mode dynamic only/,
    );
  });

  it('answers simultaneous misses in one request, each with its own port', async () => {
    const { session, model, puts, miss } = await begin();
    for (const port of [5001, 5002, 5003]) miss(port);
    await until('they are answered', () => model.entries.length === 3);
    expect(puts).toEqual([3]);
    expect(model.entries[0]).toEqual([INSIDE, EXTERNAL, 5001 * 65536 + 2000, TCP, 0, 0, 0, 0]);
    expect(ends(model)).toEqual([
      [5001, 2000],
      [5002, 2001],
      [5003, 2002],
    ]);
    const state = await session.state(10);
    expect(state).toMatchObject({ flows: 3, proxy: { misses: 3, no_port: 0, round_trip: { count: 3 } } });
  });

  it('gives an inside end one mapping, however many misses it has', async () => {
    const { model, miss } = await begin();
    for (let n = 0; n < 5; n++) miss(5001);
    await until('it is answered', () => model.entries.length > 0);
    miss(5001);
    miss(5001, 17);
    await until('the other protocol is answered', () => model.entries.length === 2);
    expect(ends(model)).toEqual([
      [5001, 2000],
      [5001, 2000],
    ]);
  });

  it('has no answer when its ports are used up, until a flow has been idle for too long', async () => {
    const { session, model, miss } = await begin();
    for (let port = 1; port <= 11; port++) miss(port);
    await until('ten are answered', () => model.entries.length === 10);
    expect(await session.state(0)).toMatchObject({ flows: 10, proxy: { no_port: 1 } });
    model.entries[4]![7] = 61;
    model.entries[5]![7] = 59;
    await session.tick();
    expect(await session.state(0)).toMatchObject({ flows: 9, flows_expired: 1 });
    miss(12);
    await until('it has the port', () => ends(model).some(([inside, outside]) => inside === 12 && outside === 2004));
  });

  it('keeps a flow that gets a packet while idle flows are reclaimed', async () => {
    const { session, model, miss, afterExport } = await begin();
    for (const port of [1, 2]) miss(port);
    await until('they are answered', () => model.entries.length === 2);
    for (const entry of model.entries) entry[7] = 61;
    afterExport.mockImplementationOnce(() => {
      model.entries[1]![7] = 0;
    });
    await session.tick();
    expect(ends(model)).toEqual([[2, 2001]]);
    expect(await session.state(0)).toMatchObject({ flows: 1, flows_expired: 1 });
  });

  it('reuses a released port as late as possible', async () => {
    const pools = new PortPools([EXTERNAL], 1, 3);
    const first = pools.take(0, 0)!;
    pools.giveBack(0, first);
    expect([pools.take(0, 0)?.port, pools.take(0, 0)?.port, pools.take(0, 0)?.port]).toEqual([2, 3, 1]);
    expect(pools.take(0, 0)).toBeNull();
    expect(pools.take(1, 0)?.port).toBe(1);
  });

  it('takes over the table of an earlier agent, except for mappings that it must not use', async () => {
    const first = await begin();
    for (const port of [5001, 5002]) first.miss(port);
    await until('they are answered', () => first.model.entries.length === 2);
    const second = await begin({ port_lo: 2001 }, first.model, false);
    expect(ends(second.model)).toEqual([[5002, 2001]]);
    second.miss(5003);
    await until('a port that is free', () => second.model.entries.length === 2);
    expect(ends(second.model)[1]).toEqual([5003, 2002]);
  });

  it('exports and imports flows as the software NAT does, and counts those that it cannot import', async () => {
    const { session, model, miss } = await begin();
    miss(5001);
    await until('it is answered', () => model.entries.length === 1);
    const flows = [
      [0, INSIDE + 1, 700, EXTERNAL, 2005, 4000],
      [1, INSIDE + 1, 700, EXTERNAL, 2000, 5000],
      [0, INSIDE + 2, 700, EXTERNAL, 2000, 6000],
      [2, INSIDE + 3, 9, EXTERNAL + 1, 2001, 7000],
    ];
    await session.importState({ flows });
    expect(await session.state(0)).toMatchObject({ flows: 3, imports_refused: 2 });
    expect(await session.exportState()).toEqual({
      flows: [[0, INSIDE, 5001, EXTERNAL, 2000, 0], flows[0], flows[1]],
    });
    await expect(session.importState({ flows: [[3, 0, 0, 0, 0, 0]] })).rejects.toThrow('/state/flows/0/0');
  });

  it('releases the port when the table is full', async () => {
    const model = new ModelSlot('nat');
    model.capacity = 2;
    const { session, miss } = await begin({}, model);
    for (const port of [1, 2, 3]) miss(port);
    await until('one is refused', async () => ((await session.state(0)).proxy as { no_port: number }).no_port === 1);
    expect(await session.state(0)).toMatchObject({ flows: 2, addresses: [{ free_ports: { tcp: 8 } }] });
  });

  it('refuses a miss that gets no port by deleting its key, once however many misses there were', async () => {
    const { session, model, deletes, miss } = await begin({ port_hi: 2000 });
    miss(1);
    await until('the only port is given out', () => model.entries.length === 1);
    for (const port of [2, 2, 3, 2, 1]) miss(port);
    await until('two are refused', () => deletes.length === 2);
    expect(deletes).toEqual([2, 3].map((port) => [INSIDE, 0, port * 65536, TCP]));
    expect(ends(model)).toEqual([[1, 2000]]);
    miss(2);
    await until('it is refused again', () => deletes.length === 3);
    expect(await session.state(0)).toMatchObject({ flows: 1, proxy: { misses: 7, misses_refused: 3, no_port: 5 } });
  });

  it('refuses a miss by deleting its key when the table is full', async () => {
    const model = new ModelSlot('nat');
    model.capacity = 2;
    const { session, deletes, miss } = await begin({}, model);
    for (const port of [1, 2, 3]) miss(port);
    await until('one is refused', () => deletes.length === 1);
    expect(deletes).toEqual([[INSIDE, 0, 3 * 65536, TCP]]);
    expect(await session.state(0)).toMatchObject({ flows: 2, proxy: { misses_refused: 1, no_port: 1 } });
  });

  it('keeps its mappings when a refusal does not reach the board', async () => {
    const { session, model, puts, miss } = await begin({ port_hi: 2000 });
    const command = vi.spyOn(model, 'write').mockImplementationOnce(() => {
      throw new Error('away');
    });
    for (const port of [1, 2]) miss(port);
    await until('a refusal was tried', () => command.mock.calls.length > 0);
    expect(await session.state(0)).toMatchObject({ flows: 1, proxy: { misses_refused: 0 } });
    miss(3);
    await until('the next is refused', () => command.mock.calls.length > 1);
    expect([ends(model), puts]).toEqual([[[1, 2000]], [1]]);
  });

  it('forgets mappings that it could not send to an unreachable board', async () => {
    const { session, model, miss } = await begin();
    vi.spyOn(model, 'put').mockImplementationOnce(() => {
      throw new Error('away');
    });
    miss(5001);
    await until('it failed', async () => (await session.state(0)).flows === 0);
    miss(5001);
    await until('it is answered', () => model.entries.length === 1);
  });

  it('never maps two inside ends to one external end, and leaks no port', async () => {
    const step = fc.record({ inside: fc.nat(14), idle: fc.boolean(), sweep: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { session, model, miss } = await begin();
        for (const { inside, idle, sweep } of steps) {
          miss(inside);
          await new Promise((done) => setImmediate(done));
          if (idle && model.entries[0]) model.entries[0][7] = 100;
          if (sweep) {
            session.sweepNow();
            await session.tick();
          }
          const outside = model.entries.map(([, address, ports]) => `${address}:${ports! & 0xffff}`);
          expect(new Set(outside).size).toBe(outside.length);
          const state = (await session.state(99)) as { flows: number; addresses: { free_ports: { tcp: number } }[] };
          expect(state.flows).toBe(model.entries.length);
          expect(state.flows + state.addresses[0]!.free_ports.tcp).toBe(10);
        }
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    [{ external_addresses: [] }, '/config/external_addresses'],
    [{ external_addresses: ['198.18.0.1', '198.18.0.1'] }, '/config/external_addresses: an address appears twice'],
    [{ port_lo: 9, port_hi: 8 }, '/config/port_hi'],
    [{ idle_timeout_s: 86_400 }, '/config/idle_timeout_s: a board keeps a flow for at most 43200 s'],
    [{ idle_timeout_s: 43_201 }, '/config/idle_timeout_s: a board keeps a flow for at most 43200 s'],
  ])('refuses %j', (over, why) => {
    expect(() => nat.configure({ ...config, ...over })).toThrow(why);
  });
});
