import type {
  FlowExport,
  FlowHoldEnd,
  FlowImport,
  FlowMigration,
  FlowRelease,
  FlowSelector,
  MigrationPreview,
} from '@orrery/contract';

/** Which flows of an instance: of those selected, the ones that have had a packet for no longer than that. */
type Wanted = {
  flows: FlowSelector;
  used_within_ms?: number;
};

/** The two instances, each asked for what it alone can do. */
export interface FlowEnds {
  export(wanted: Wanted & { after?: string; since?: string }): Promise<FlowExport>;
  import(state: FlowExport['state']): Promise<FlowImport>;
  release(wanted: Wanted & { portion: string }): Promise<FlowRelease>;
}

/** A split that leads to both instances. */
export interface FlowSplit {
  /** Packets of the flows wait there; it ends the wait by itself after a while, and they go on where they were. */
  hold(flows: FlowSelector): Promise<void>;
  /** They wait no longer. `steer`: they go to the other instance from now on; rejects where it comes too late. */
  end(steer: boolean): Promise<FlowHoldEnd>;
}

/** By which flows are steered: all splits that lead to both instances. */
export interface FlowSteering {
  splits: readonly FlowSplit[];
  /** A flow without a packet for so long is not in progress: splits do not know it any more. */
  idle_ms: number;
}

export type MoveStep = 'copy-flows' | 'follow-flows' | 'steer-flows' | 'release-flows';
export type MoveCounts = Pick<
  FlowMigration,
  'copied' | 'renewed' | 'steered' | 'waited' | 'released' | 'left_out' | 'bytes'
>;
export const NOTHING_MOVED: MoveCounts = {
  copied: 0,
  renewed: 0,
  steered: 0,
  waited: 0,
  released: 0,
  left_out: 0,
  bytes: 0,
};

/**
 * What all attempts of a move have achieved, given what those before achieved: flows that were released then are not copied again,
 * and what was steered then is not where the next attempt looks. What was removed by a call without a reply is counted as copied.
 */
export function afterAttempts(before: MoveCounts, now: MoveCounts): MoveCounts {
  return {
    copied: Math.max(before.copied, before.released + now.copied),
    renewed: before.renewed + now.renewed,
    steered: before.steered + now.steered,
    waited: before.waited + now.waited,
    released: before.released + now.released,
    left_out: now.left_out,
    bytes: before.bytes + now.bytes,
  };
}

/** Grows as a move goes forward, and stays where an attempt does again what one before it has done. */
export function flowsDone({ copied, steered, released }: MoveCounts): number {
  return copied + steered + released;
}

/** Why flows stay where they are: trying again does not help. */
export class NotSteered extends Error {
  override name = 'NotSteered';
}

/** Rounds in which packets do not wait yet: as many as leave little to copy while they do. */
const FREE_ROUNDS = 4;
/** Most flows of which packets may wait for their copy, where fewer rounds achieve that. */
const FEW = 16;
/** Longest that a packet is under way between a split and an instance. */
const TRANSIT_MS = 20;
/** Rounds while packets wait: the second tells that none of theirs came after the first. Later ones see other packets. */
const HELD_ROUNDS = { least: 2, most: 5 };
/** Times that packets wait before the flows stay where they are. */
const HOLDS = 5;
/** By how much an instance may see a packet after its split. */
const BETWEEN_MS = 2000;

export interface MovePace {
  /** Between two copies of what was used since. */
  round_ms: number;
  /** Flows of which no packet comes for so long where they were are steered elsewhere, or have ended. */
  quiet_ms: number;
  /** Longest time to wait for that. */
  follow_ms: number;
  sleep(ms: number): Promise<void>;
  nowMs(): number;
}

export interface MoveOutcome {
  counts: MoveCounts;
  /** Flows of which packets still come where they were; 0: none, or nobody asked for their release. */
  in_use: number;
}

/**
 * migrate_instance (HYPER III-A). Copies the flows, then again and again those that packets have used since, so that the other
 * instance has each as it was a moment ago. To release them, each portion is copied once more and removed only after the
 * other instance has confirmed all of it: whichever instance ends in the middle, the flows are in the other one.
 *
 * With `steering`, packets of the flows wait at the splits while the last of their state is copied, and then go to the other
 * instance: no packet meets older state, and none is lost. Without, who asks for the move steers, and a packet that arrives
 * between the last copy and the change of its steering is in the state of the old instance alone.
 */
export async function moveFlows(
  ends: FlowEnds,
  { flows, release }: Pick<FlowMigration, 'flows' | 'release'>,
  steering: FlowSteering | null,
  pace: MovePace,
  progress: (step: MoveStep, counts: MoveCounts) => Promise<void>,
): Promise<MoveOutcome> {
  const counts = { ...NOTHING_MOVED };
  const wanted = wantedOf(flows, steering);
  let known: string | undefined;
  const copyRound = async (
    step: MoveStep,
    since: string | undefined,
    arrived: (portion: FlowExport, imported: FlowImport) => Promise<void> | void,
  ) => {
    let first: string | undefined;
    let after: string | undefined;
    for (let last = false; !last; ) {
      const portion = await ends.export({ ...wanted, ...(after && { after }), ...(since && { since }) });
      const imported = await ends.import(portion.state);
      known ??= imported.tables;
      if (steering && known !== imported.tables) throw new Error('the other instance has lost what it got');
      counts.bytes += bytesOf(portion.state);
      await arrived(portion, imported);
      await progress(step, counts);
      first ??= portion.portion;
      after = portion.portion;
      last = portion.last;
    }
    return first!;
  };
  const follow = async (since: string, step: MoveStep = 'follow-flows') => {
    let used = 0;
    let left_out = 0;
    const next = await copyRound(step, since, ({ rows }, imported) => {
      used += rows;
      left_out += imported.left_out;
      counts.renewed += rows;
    });
    return { next, used, left_out };
  };

  /** `copiedSince`: what was used before is in the other instance, which has gone on with it; absent: all is copied again. */
  const releaseAll = async (copiedSince?: string): Promise<MoveOutcome> => {
    let kept = 0;
    counts.left_out = 0;
    // Recorded first: who goes on after a restart must know that flows may be gone from where they were.
    await progress('release-flows', counts);
    await copyRound('release-flows', copiedSince, async (portion, imported) => {
      counts.left_out += imported.left_out;
      if (imported.left_out > 0) return;
      const reply = await ends.release({ ...wanted, portion: portion.portion });
      counts.released += reply.released;
      kept += reply.kept;
    });
    return { counts, in_use: kept };
  };

  let left_out = 0;
  let since = await copyRound('copy-flows', undefined, (portion, imported) => {
    counts.copied += portion.rows - imported.left_out;
    left_out += imported.left_out;
  });
  counts.left_out = left_out;

  if (steering) {
    for (let round = 0, used = Number.POSITIVE_INFINITY; round < FREE_ROUNDS && used > FEW; round++)
      ({ next: since, used } = await follow(since));
    since = await steerFlows(steering, flows, since, counts, pace, {
      follow: (from) => follow(from, 'steer-flows'),
      steered: () => progress('steer-flows', counts),
    });
    if (release) return await releaseAll(since);
    return { counts, in_use: (await follow(since, 'steer-flows')).used };
  }

  const began = pace.nowMs();
  let usedAt = began;
  let used = 0;
  do {
    if (release) await pace.sleep(pace.round_ms);
    const round = await follow(since);
    since = round.next;
    used = round.used;
    if (used > 0) usedAt = pace.nowMs();
    if (release && used > 0 && pace.nowMs() - began > pace.follow_ms) return { counts, in_use: used };
  } while (release && pace.nowMs() - usedAt < pace.quiet_ms);
  if (!release) return { counts, in_use: 0 };

  return await releaseAll();
}

/** Portions that are read at most to count flows. */
const COUNTED_PORTIONS = 32;

/** What a move would copy now. */
export async function countFlows(
  ends: Pick<FlowEnds, 'export'>,
  flows: FlowSelector,
  steering: Pick<FlowSteering, 'idle_ms'> | null,
): Promise<MigrationPreview> {
  const counted = { flows: 0, bytes: 0 };
  let after: string | undefined;
  for (let portions = 0; portions < COUNTED_PORTIONS; portions++) {
    const portion = await ends.export({ ...wantedOf(flows, steering), ...(after && { after }) });
    counted.flows += portion.rows;
    counted.bytes += portion.rows > 0 ? bytesOf(portion.state) : 0;
    if (portion.last) return { ...counted, complete: true };
    after = portion.portion;
  }
  return { ...counted, complete: false };
}

/**
 * Lets packets of the flows wait, copies what they used last, and sends them to the other instance. Whatever fails, they go
 * on where they were, and it is tried again. Returns where the next copy goes on. Throws `NotSteered`.
 */
async function steerFlows(
  { splits }: FlowSteering,
  flows: FlowSelector,
  from: string,
  counts: MoveCounts,
  pace: MovePace,
  {
    follow,
    steered,
  }: {
    follow(since: string): Promise<{ next: string; used: number; left_out: number }>;
    steered(): Promise<void>;
  },
): Promise<string> {
  if (counts.left_out > 0) throw new NotSteered('the other instance has no room for all flows');
  let since = from;
  for (let attempt = 1; ; attempt++) {
    const waiting = new Set<FlowSplit>();
    try {
      for (const split of splits) {
        waiting.add(split);
        await split.hold(flows);
      }
      await pace.sleep(TRANSIT_MS);
      const { least, most } = HELD_ROUNDS;
      for (let round = 0, used = 0; round < least || (used > 0 && round < most); round++) {
        const copied = await follow(since);
        ({ next: since, used } = copied);
        if (copied.left_out > 0) throw new NotSteered('the other instance has no room for all flows');
      }
      for (const split of splits) {
        const end = await split.end(true);
        waiting.delete(split);
        counts.steered += end.flows;
        counts.waited += end.packets;
        await steered();
        if (end.table_full)
          throw new NotSteered('the split has no room to track all flows: some may stay, and none is removed');
      }
      return since;
    } catch (error) {
      await Promise.all([...waiting].map((split) => split.end(false).catch(() => undefined)));
      // What is steered already is not where the next attempt looks.
      if (error instanceof NotSteered) throw error;
      if (attempt === HOLDS) throw new NotSteered((error as Error).message);
      await pace.sleep(pace.round_ms);
    }
  }
}

/** Of flows that are steered: those that the splits know now, and knew when they were steered. */
function wantedOf(flows: FlowSelector, steering: Pick<FlowSteering, 'idle_ms'> | null): Wanted {
  if (!steering) return { flows };
  return { flows, used_within_ms: Math.max(steering.idle_ms - BETWEEN_MS, Math.ceil(steering.idle_ms / 2)) };
}

/** As it goes over the connection: nearly all of it is one text for each table. */
function bytesOf(state: FlowExport['state']): number {
  return Object.values(state).reduce<number>(
    (sum, table) => sum + (typeof table === 'string' ? table : JSON.stringify(table)).length,
    0,
  );
}
