/**
 * Judges one case of the matrix from what was recorded, without the product: `rows` were taken a few times a second,
 * `{ t_ms, traffic: { chain: { offered, delivered } }, said }` with packets counted by the kernel at the client, and in
 * `said` the last answer of the API, or null where there was none: `{ asked_ms, wrong: [{ name, is }], running: [chain] }`,
 * `name` being what is wrong, or changes: a chain, a node, an accelerator or a part of the health. On a busy machine an
 * answer is recorded long after it was asked for, and holds for no later time. Times are on one monotonic clock.
 */

/** A chain that delivers nothing is no longer called running after this time (docs/reliability.md), with one poll to spare. */
export const DARK_MS = 4000;
/** A process that is stopped is told within this time. */
export const HUNG_MS = 4000;

/** Spans in which a client offered packets and got none back: `{ chain, from_ms, to_ms }`. */
export function darkSpans(rows) {
  const spans = [];
  for (const chain of new Set(rows.flatMap(({ traffic }) => Object.keys(traffic)))) {
    let last = null;
    for (const { t_ms, traffic } of rows) {
      const now = traffic[chain];
      if (!now) continue;
      if (last && now.delivered === last.delivered && now.offered > last.offered)
        spans.push({ chain, from_ms: last.t_ms, to_ms: t_ms });
      if (!last || now.delivered !== last.delivered) last = { t_ms, ...now };
    }
  }
  return longest(spans);
}

/** Of spans with the same beginning the longest. */
function longest(spans) {
  const byStart = new Map(spans.map((span) => [`${span.chain} ${span.from_ms}`, span]));
  return [...byStart.values()];
}

/** Moments at which a chain that had delivered nothing for longer than `DARK_MS` was called running. */
export function lies(rows) {
  return darkSpans(rows).flatMap(({ chain, from_ms, to_ms }) =>
    rows
      .filter(({ t_ms, said }) => t_ms <= to_ms && said?.asked_ms > from_ms + DARK_MS && said.running.includes(chain))
      .slice(0, 1)
      .map(({ said }) => `${chain} was called running after ${seconds(said.asked_ms - from_ms)} without a packet`),
  );
}

/** What the API says of something that changes as requested. */
const CHANGES = new Set(['deploying', 'undeploying', 'progressing', 'pending', 'starting', 'stopping', 'loading']);
const troubles = ({ wrong }) => wrong.filter(({ is }) => !CHANGES.has(is)).map(({ name }) => name);

/**
 * Whether one of `names` was told to be wrong, not to change, within `withinMs` of the fault, and not before it. No answer tells as much
 * only where the part `isMute`: the API cannot answer without it.
 */
export function told(rows, fault_ms, withinMs, { names, isMute }) {
  const before = rows.findLast(({ t_ms, said }) => said && t_ms <= fault_ms)?.said;
  const already = before ? troubles(before) : [];
  const tells = (said) =>
    said ? troubles(said).some((name) => names.includes(name) && !already.includes(name)) : isMute;
  const isInTime = (ms) => ms > fault_ms && ms <= fault_ms + withinMs;
  return rows.some(({ t_ms, said }) => isInTime(said?.asked_ms ?? t_ms) && tells(said));
}

/** Whether what an operation that ended in `state` wanted is in force (docs/reliability.md). */
export const isInForce = (state) => state === 'COMPLETED' || state === 'PARTIALLY_COMPLETED';

/** What is wrong after an operation that should make the chain run (`wanted`), or not run. */
export function wrongEnd(state, wanted, runs) {
  const expected = isInForce(state) === wanted;
  return runs === expected ? [] : [`the operation ended ${state}, and the chain ${runs ? 'runs' : 'does not run'}`];
}

/** What is wrong with the `place` of an NF after the run that last moved it. */
export function wrongPlace({ state, detail, moves }, nf, place) {
  const { from, to } = moves.find(({ chain_id, node_id }) => chain_id === nf.chain_id && node_id === nf.node_id);
  const expected = { completed: [to], refused: [from], 'rolled-back': [from], failed: [from, to] }[state];
  if (!expected) return [`the reconfiguration ended ${state}`];
  if (!expected.some((one) => samePlace(one, place)))
    return [`the reconfiguration ended ${state}, and the NF is on ${inWords(place)}`];
  return state !== 'completed' && !detail ? [`the reconfiguration ended ${state}, and nothing says why`] : [];
}

const samePlace = (a, b) => a.on === b.on && (a.on !== 'board' || a.slot === null || inWords(a) === inWords(b));
const inWords = ({ on, slot }) => (slot ? `${slot.board} slot ${slot.slot}` : on);

/** Time from the fault's end until everything was well and every chain delivered again, in ms; null if it never was. */
export function recovery(rows, end_ms) {
  const after = rows.filter(({ t_ms }) => t_ms >= end_ms);
  const before = new Map();
  for (const { t_ms, traffic } of rows)
    for (const [chain, { delivered }] of Object.entries(traffic))
      if (t_ms <= after[0]?.t_ms || !before.has(chain)) before.set(chain, delivered);
  const delivers = ({ traffic }) => [...before].every(([chain, count]) => traffic[chain]?.delivered > count);
  const good = after.find(
    (row, index) => index > 0 && row.said?.asked_ms >= end_ms && row.said.wrong.length === 0 && delivers(row),
  );
  return good ? good.t_ms - end_ms : null;
}

/** The longest outage of any chain, in ms. */
export function outage(rows) {
  return Math.max(0, ...darkSpans(rows).map(({ from_ms, to_ms }) => to_ms - from_ms));
}

export const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
