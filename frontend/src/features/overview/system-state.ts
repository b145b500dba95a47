import type { Deployment, Health, NfInstance, NodeStatus, OutOfService, SloAlert, SloStatus } from '@orrery/contract';
import type { ChainTitle } from '../../shared/api/chains.js';
import { lossOf, missText } from '../../shared/chain/slo-miss.js';
import { endingOf, reasonText } from '../../shared/format/ending.js';
import { countText } from '../../shared/format/number.js';

export interface Trouble {
  /** Unique among the troubles. */
  readonly key: string;
  readonly name: string;
  readonly status: 'degraded' | 'failed';
  /** Said after the name; absent: the status. */
  readonly says?: string;
  readonly detail: string;
  /** The chain that suffers from it; null: all may. */
  readonly chain_id: string | null;
  /** The page that tells more; absent: that of the chain, if any. */
  readonly path?: string;
}

/** What the state of the system follows from. */
export interface Known {
  readonly health: Health | undefined;
  readonly instances: readonly NfInstance[];
  readonly deployments: readonly Deployment[];
  readonly slos: readonly SloStatus[];
  /** How many service requests are so. */
  readonly requests: { readonly late: number; readonly broken: number } | undefined;
}

/**
 * Problems, worst first: failed before degraded; of the same status parts of the server before NFs, chains, objectives and service requests. Each is
 * told once, at its cause: a chain not where one of its NFs failed, an objective not where its chain or an NF is in trouble.
 */
export function troublesOf({ health, instances, deployments, slos, requests }: Known, titleOf: ChainTitle): Trouble[] {
  const parts = (health?.parts ?? []).flatMap(({ name, status, detail }): Trouble[] =>
    status === 'degraded' || status === 'failed' ? [{ key: `part/${name}`, name, status, detail, chain_id: null }] : [],
  );
  const nfs = instances
    .filter(({ state }) => state === 'failed')
    .map(({ id, chain_id, detail }): Trouble => {
      const why = detail === null ? 'The NF failed.' : (endingOf(detail)?.text ?? detail);
      return { key: `nf/${id}`, name: id, status: 'failed', detail: why, chain_id };
    });
  const ofNfs = new Set(nfs.map(({ chain_id }) => chain_id));
  const chains = deployments.flatMap(({ chain_id, state, reason }): Trouble[] => {
    if (ofNfs.has(chain_id) || (state !== 'degraded' && state !== 'failed')) return [];
    const detail = reason ? reasonText(reason) : state === 'failed' ? 'Its deployment failed.' : 'Its events tell why.';
    return [{ key: `chain/${chain_id}`, name: titleOf(chain_id), status: state, detail, chain_id }];
  });
  const told = new Set([...nfs, ...chains].map(({ chain_id }) => chain_id));
  const missed = slos.filter(({ chain_id, state }) => state === 'violated' && !told.has(chain_id));
  const objectives = [...new Set(missed.map(({ chain_id }) => chain_id))].map((chain_id): Trouble => {
    const detail = `Objective violated: ${missed
      .filter((slo) => slo.chain_id === chain_id)
      .map(missText)
      .join('; ')}.`;
    // Of a chain that runs well as far as the server can see, `degraded` would contradict its state.
    const says = lossOf(missed, chain_id) ? 'degraded' : 'misses objectives';
    return { key: `objectives/${chain_id}`, name: titleOf(chain_id), status: 'degraded', says, detail, chain_id };
  });
  const all = [...parts, ...nfs, ...chains, ...objectives, ...requestTroubles(requests)];
  return [...all.filter(({ status }) => status === 'failed'), ...all.filter(({ status }) => status === 'degraded')];
}

function requestTroubles({ late, broken }: NonNullable<Known['requests']> = { late: 0, broken: 0 }): Trouble[] {
  const told = [
    ...(broken > 0 ? [`${countText(broken)} broken: no other way is left`] : []),
    ...(late > 0 ? [`${countText(late)} late: slower than their bounds`] : []),
  ];
  if (told.length === 0) return [];
  const detail = `${told.join('; ')}.`;
  const path = '/service-requests';
  return [{ key: 'service-requests', name: 'Service requests', status: 'degraded', detail, chain_id: null, path }];
}

interface OpenAlert {
  /** `<chain id>/<objective id>` */
  readonly key: string;
  readonly text: string;
  /** Of its objective. */
  readonly path: string;
}

const objectiveOf = ({ chain_id, slo_id }: SloAlert) => `${chain_id}/${slo_id}`;

/**
 * Objectives with open alerts, the worst first: each once, however many of its rules tell. They are no trouble of now: a budget that
 * burned goes on to be told for a while after its objective is met again.
 */
export function openAlerts(alerts: readonly SloAlert[], titleOf: ChainTitle): OpenAlert[] {
  const open = alerts.filter(({ state }) => state === 'open');
  return [...new Set(open.map(objectiveOf))].map((key) => {
    const those = open.filter((alert) => objectiveOf(alert) === key);
    const { chain_id, slo_id } = those[0]!;
    const causes = those.flatMap(({ cause }) => (cause ? [cause.what.replace(/\.$/, '')] : []));
    const why = [...new Set(causes)].join('; ') || 'no cause found';
    const path = `/slos?slo=${encodeURIComponent(key)}`;
    return { key, text: `${titleOf(chain_id)}: the budget of ${slo_id} burns too fast: ${why}.`, path };
  });
}

/** How many agents are connected, and which servers are lost all the same: an agent may be heard of a server without a link. */
export function agentsText(nodes: readonly NodeStatus[], out: readonly OutOfService[]): string {
  const connected = nodes.filter(({ state }) => state === 'connected').length;
  const lost = out.flatMap(({ id, kind, lost }) => (kind === 'server' && lost ? [`${id} is lost`] : []));
  return [`${connected} of ${nodes.length} connected`, ...lost].join(', ');
}

/** The server's own status, lowered by any problem in the network. */
export function systemState(health: Health, troubles: readonly Trouble[]): Health['status'] {
  return health.status === 'ok' && troubles.length > 0 ? 'degraded' : health.status;
}
