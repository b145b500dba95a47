import { expect, it } from 'vitest';
import { RACK } from '../../testing/fixtures.js';
import { RebuiltSwitches } from './rebuilt-switches.js';

const [LEAF] = RACK.switches;

/** A twin that has built revision 1, with one switch that runs ovs. */
function bench() {
  const world = {
    revision: 1,
    wanted: 'ovs' as 'ovs' | 'p4',
    builtRevision: 1 as number | null,
    runs: 'ovs',
    connectedMs: 0 as number | null,
    nowMs: 1000,
  };
  const leaf = () => ({ ...LEAF!, driver: world.wanted });
  const rebuilt = new RebuiltSwitches(
    {
      connectedSinceMs: () => world.connectedMs,
      switchDescription: () => ({ driver: world.runs }) as never,
    },
    {
      get current() {
        return { revision: world.revision, infrastructure: { ...RACK, switches: [leaf()] } };
      },
    },
    {
      get builtRevision() {
        return world.builtRevision;
      },
    },
    () => world.nowMs,
  );
  rebuilt.follow();
  const want = (driver: 'ovs' | 'p4') => {
    world.wanted = driver;
    world.revision++;
    rebuilt.follow();
  };
  const hello = (driver: string) => {
    world.runs = driver;
    world.connectedMs = ++world.nowMs;
  };
  return { world, rebuilt, want, hello, lack: () => rebuilt.lack(leaf()), leaf };
}

it('counts what the agent reports while its driver stays, also where the twin builds something else', () => {
  const { world, rebuilt, lack, leaf } = bench();
  world.revision++;
  world.builtRevision = null;
  rebuilt.follow();
  expect([lack(), rebuilt.isUnderWay(leaf())]).toEqual([null, false]);
});

it('waits for the twin and then for a hello of the new agent', () => {
  const { world, rebuilt, want, hello, lack, leaf } = bench();
  want('p4');
  expect(lack()).toBe('still runs the driver ovs, not p4');
  hello('p4');
  expect(lack()).toContain('the twin is still changing');
  world.builtRevision = 2;
  expect(lack()).toBeNull();
  expect(rebuilt.isUnderWay(leaf())).toBe(true);
  rebuilt.done(leaf());
  expect([lack(), rebuilt.isUnderWay(leaf())]).toEqual([null, false]);
});

it('does not take the agent of before for that of a change that is taken back', () => {
  const { world, want, hello, lack } = bench();
  want('p4');
  want('ovs');
  expect(lack()).toContain('the twin is still changing');
  world.builtRevision = 2;
  expect(lack()).toContain('the twin is still changing');
  world.builtRevision = 3;
  world.connectedMs = null;
  expect(lack()).toContain('waits for its agent');
  hello('ovs');
  expect(lack()).toBeNull();
});

it('goes on with the agent of before where the twin had nothing to change', () => {
  const { world, want, lack } = bench();
  want('p4');
  want('ovs');
  world.builtRevision = 3;
  expect(lack()).toContain('waits for its agent');
  world.nowMs += 1000;
  expect(lack()).toBeNull();
});

it('takes up a change that began before the server started', () => {
  const { world, rebuilt, lack, leaf } = bench();
  rebuilt.resume([leaf().id]);
  expect(rebuilt.isAny).toBe(false);
  world.revision = 2;
  rebuilt.resume([leaf().id]);
  expect(lack()).toContain('the twin is still changing');
});
