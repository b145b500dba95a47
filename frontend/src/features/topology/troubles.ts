import type { Infrastructure, OutOfService, SwitchState } from '@orrery/contract';
import { downLinksText } from '../../shared/links/down-links.js';
import { AROUND_LOST } from '../../shared/switches/switch-text.js';

/** What is the matter with a part: with a server, board or host besides its own state, which is shown beside its name. */
export interface Trouble {
  /** The worst of it, in a word or two. */
  readonly word: string;
  /** All of it. */
  readonly text: string;
  readonly status: 'degraded' | 'failed';
}

/** By the id of the part. */
export type Troubles = ReadonlyMap<string, Trouble>;

export const NO_TROUBLES: Troubles = new Map();

/** Parts that plans do not use, those with a link that is down, and switches that are not as they are to be. */
export function troublesOf(
  { servers, boards, hosts, links }: Infrastructure,
  out: readonly OutOfService[],
  downIds: readonly string[],
  switches: readonly SwitchState[],
): Troubles {
  const troubles = new Map<string, Trouble>();
  const down = links.filter(({ id }) => downIds.includes(id));
  for (const { id } of [...servers, ...boards, ...hosts]) {
    const trouble = troubleOf(
      out.find((part) => part.id === id),
      downLinksText(id, down, downIds),
    );
    if (trouble) troubles.set(id, trouble);
  }
  for (const state of switches) {
    const trouble = troubleOfSwitch(state);
    if (trouble) troubles.set(state.id, trouble);
  }
  return troubles;
}

/** One whose agent has never connected is not there yet. */
function troubleOfSwitch({ connected, description, changing, lost, observed }: SwitchState): Trouble | null {
  const isAway = !connected && description !== null;
  const failure = connected && observed?.state === 'failed' ? (observed.error ?? 'its agent does not say why') : null;
  const texts = [
    ...(lost ? [`lost: it neither answers nor passes packets; ${AROUND_LOST}`] : []),
    ...(changing === undefined ? [] : [`changing its driver: ${changing}`]),
    ...(isAway ? ['its agent is away'] : []),
    ...(failure === null ? [] : [`failed: ${failure}`]),
  ];
  if (texts.length === 0) return null;
  const isChanging = changing !== undefined && !lost;
  const word = lost ? 'lost' : isChanging ? 'changing driver' : isAway ? 'agent away' : 'failed';
  return { word, text: texts.join('; '), status: isChanging && !isAway ? 'degraded' : 'failed' };
}

function troubleOf(part: OutOfService | undefined, downLinks: string | null): Trouble | null {
  const { lost = null, maintenance = null } = part ?? {};
  const texts = [
    ...(lost ? [`lost: ${lost.why}`] : []),
    ...(maintenance ? [`in maintenance: ${maintenance.reason}`] : []),
    ...(downLinks ? [downLinks] : []),
  ];
  if (texts.length === 0) return null;
  const word = lost ? 'lost' : maintenance ? 'maintenance' : 'link down';
  return { word, text: texts.join('; '), status: word === 'maintenance' ? 'degraded' : 'failed' };
}
