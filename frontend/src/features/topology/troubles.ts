import type { Infrastructure, OutOfService } from '@orrery/contract';
import { downLinksText } from '../../shared/links/down-links.js';

/** What is the matter with a server, board or host besides its own state. */
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

/** Parts that plans do not use, and those with a link that is down. */
export function troublesOf(
  { servers, boards, hosts, links }: Infrastructure,
  out: readonly OutOfService[],
  downIds: readonly string[],
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
  return troubles;
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
