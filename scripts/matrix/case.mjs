import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../client.mjs';
import { differences, heldEntries, heldGroups, plannedEntries, plannedGroups } from './entries.mjs';
import { FAULTS } from './faults.mjs';
import { HUNG_MS, lies, outage, recovery, seconds, told } from './judge.mjs';
import { vswitchd } from './parts.mjs';
import { Recorder, said, Writer } from './recorder.mjs';
import { engineInstances, ofctl, switchEntries } from './witness.mjs';

const RECOVER_MS = 30_000;
/** What drifted is as before within this time. */
const REPAIR_MS = 10_000;

/**
 * Runs one case: everything well, the phase's change begins, the fault strikes `delay_ms` later, everything well again.
 * Returns `{ outage_ms, recovery_ms, broken }`, `broken` being the promises that did not hold.
 */
export async function runCase(bench, { part, phase, fault, drift, delay_ms }) {
  const { stack, notes } = bench;
  await allWell(bench);
  const prepared = await phase.prepare(bench);
  const telling = await tellingOf(bench, part);
  // A change has entries of its own; then only agreement is asked for.
  const before = drift && phase.name === 'quiet' ? switchEntries(vswitchd(bench)) : null;
  const recorder = new Recorder(stack, () => bench.clients());
  const writer = new Writer(stack, notes);
  const broken = [];
  try {
    const over = await phase.change(bench, prepared);
    await sleep(delay_ms);
    const fault_ms = performance.now();
    const { mustTell } = await FAULTS[fault].strike(part, bench, drift);
    const end_ms = performance.now();
    if (before) broken.push(...(await repaired(bench, before)));
    broken.push(...(await over()));
    await until('everything well', async () => (recovery(recorder.rows, end_ms) === null ? null : true), {
      timeoutMs: RECOVER_MS,
    }).catch(() => undefined);
    broken.push(...(await writer.lost()));
    const rows = await recorder.stop();
    broken.push(...lies(rows));
    if (mustTell && !told(rows, fault_ms, HUNG_MS, telling))
      broken.push(`nothing of ${telling.names.join(', ')} was told in ${seconds(HUNG_MS)}`);
    const recovery_ms = recovery(rows, end_ms);
    if (recovery_ms === null) broken.push(`not well after ${seconds(RECOVER_MS)}: ${inWords(rows.at(-1).said)}`);
    broken.push(...(await agreement(bench)));
    await phase.undo(bench, prepared);
    return { outage_ms: outage(rows), recovery_ms, broken };
  } catch (error) {
    // What undoing says of a server that is gone would hide why it is.
    await phase.undo(bench, prepared).catch(() => undefined);
    throw error;
  } finally {
    await recorder.stop();
    await writer.lost().catch(() => undefined);
  }
}

/** Waits until the API says that everything is well, the chains are where the matrix wants them and have traffic. */
export async function allWell(bench) {
  await bench.restore();
  // The API knows what was declared; whether its process has started is for the twin to know.
  await until('a client of every chain', () => (Object.values(bench.clients()).includes(null) ? null : true));
  let last = null;
  const well = async () => {
    last = await said(bench.stack);
    return last?.wrong.length === 0 ? true : null;
  };
  await until('everything well', well, { timeoutMs: RECOVER_MS }).catch((error) => {
    throw new Error(`${error.message} ${inWords(last)}`);
  });
}

async function repaired(bench, before) {
  const wanted = before.join('\n');
  const same = () => (switchEntries(vswitchd(bench)).join('\n') === wanted ? true : null);
  return until('repair', same, { timeoutMs: REPAIR_MS }).then(
    () => [],
    () => [`the switch was not as before after ${seconds(REPAIR_MS)}`],
  );
}

const inWords = (said) => (said ? said.wrong.map(({ name, is }) => `${name}: ${is}`).join('; ') : 'no answer');

/** What is told of a frozen part: its name, and those of the chains that it carries, of which a change is none. */
async function tellingOf({ stack, chains }, { told: { name, carries = () => false, isMute = false } = {} }) {
  const { items } = await stack.api('GET', '/nf-instances?limit=1000');
  const carried = items.filter((one) => chains.includes(one.chain_id) && carries(one)).map(({ chain_id }) => chain_id);
  return { names: [...(name ? [name] : []), ...new Set(carried)], isMute };
}

/** API = engines = switch; resolves with what differs for long. */
async function agreement(bench) {
  let last = [];
  const agree = async () => {
    last = [...(await atEngines(bench)), ...(await atSwitches(bench))];
    return last.length === 0 ? last : null;
  };
  return until('agreement', agree, { timeoutMs: 10_000 }).catch((error) => (last.length > 0 ? last : [error.message]));
}

async function atEngines({ stack }) {
  const { items } = await stack.api('GET', '/nf-instances?limit=1000');
  const { items: nodes } = await stack.api('GET', '/nodes');
  const servers = nodes.filter(({ kind }) => kind === 'server');
  const found = await Promise.all(
    servers.map(async ({ id }) => {
      const { nfs, queued } = await engineInstances(`${stack.runDir}/a/${id}/engine.sock`);
      const here = items.filter(({ server }) => server === id);
      const own = here.filter(({ driver }) => driver === 'engine');
      const ids = (instances) => instances.map((one) => one.id);
      const different = [...differences(ids(own), nfs), ...differences(ids(here), queued)];
      return [...new Set(different)].map((what) => `the engine of ${id} ${what}`);
    }),
  );
  return found.flat();
}

async function atSwitches(bench) {
  const { items } = await bench.stack.api('GET', '/switches');
  const pid = vswitchd(bench);
  const found = await Promise.all(
    items.map(async ({ id, planned, observed }) => {
      if (planned.generation !== observed.generation || observed.state !== 'converged')
        return [`switch ${id} is ${observed.state} at ${observed.generation}, wanted is ${planned.generation}`];
      const { items: entries, total } = await bench.stack.api('GET', `/switches/${id}/entries?limit=1000`);
      if (entries.length < total) throw new Error(`switch ${id} has more than ${entries.length} entries`);
      const numbers = new Map(observed.ports.map(({ name, number }) => [name, number]));
      const different = [
        ...differences(plannedEntries(entries, numbers), heldEntries(ofctl(pid, 'dump-flows'))),
        ...differences(plannedGroups(entries), heldGroups(ofctl(pid, 'dump-groups'))),
      ];
      return different.slice(0, 5).map((what) => `switch ${id} ${what}`);
    }),
  );
  return found.flat();
}
