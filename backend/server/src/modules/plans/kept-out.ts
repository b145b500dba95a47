import type { Infrastructure, Plan, PlanRequest } from '@orrery/contract';
import type { Excluded } from '../../ports/exclusions.js';

/** What a plan keeps out of servers and boards. */
interface KeptOut {
  /** Nothing may stand there. */
  readonly without_servers: string[];
  readonly lost_servers: string[];
  readonly without_boards: string[];
  /** Nothing may come there. */
  readonly closed: { readonly servers: string[]; readonly boards: string[] };
}

/**
 * What is lost, and what the request names, is left by all that stands there. Nothing comes to a part in maintenance, either,
 * but what runs there stays, unless the request is to drain this very part: otherwise what one drain may cost chains, others
 * would, too.
 */
export function keptOut(
  { without_servers = [], without_boards = [] }: Pick<PlanRequest, 'without_servers' | 'without_boards'>,
  { servers, boards, lost_servers }: Excluded,
  base: Plan | null,
  infrastructure: Infrastructure,
): KeptOut {
  const known = infrastructure.servers.map(({ id }) => id);
  const { usedServers, usedBoards } = usedBy(base, infrastructure);
  const lost = distinct(lost_servers, known);
  const out = distinct([...without_servers, ...servers], known);
  const outBoards = distinct([...without_boards, ...boards]);
  const isClosed = (id: string) => usedServers.has(id) && !without_servers.includes(id) && !lost.includes(id);
  const isClosedBoard = (id: string) => usedBoards.has(id) && !without_boards.includes(id);
  return {
    without_servers: out.filter((id) => !isClosed(id)),
    lost_servers: lost,
    without_boards: outBoards.filter((id) => !isClosedBoard(id)),
    closed: { servers: out.filter(isClosed), boards: outBoards.filter(isClosedBoard) },
  };
}

/** The servers and boards that something of the plan needs. */
function usedBy(plan: Plan | null, { boards }: Infrastructure) {
  const drivenBy = new Map(boards.map(({ id, server }) => [id, server]));
  const placed = (plan?.graph.nodes ?? []).filter((node) => node.kind !== 'exit');
  const slots = placed.flatMap((node) => (node.kind === 'nf' && node.board ? [node.board.board] : []));
  const driving = slots.flatMap((board) => drivenBy.get(board) ?? []);
  return {
    usedServers: new Set([...placed.map(({ server }) => server), ...driving]),
    usedBoards: new Set(slots),
  };
}

/** Each once, and only those of `among`, if given. */
function distinct(ids: readonly string[], among: readonly string[] = ids): string[] {
  return [...new Set(ids)].filter((id) => among.includes(id));
}
