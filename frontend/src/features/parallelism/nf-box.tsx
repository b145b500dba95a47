import type { ChainDefinition, Instance } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { useDeployments, useNfDescriptors, useNfInstances } from '../../shared/api/queries.js';
import { SHOWN_WORDS, type ShownState, shownState } from '../../shared/chain/nf-state.js';
import { spotText } from '../../shared/format/form.js';
import { NfIcon } from '../../shared/ui/nf-icon.js';
import { LiveRate } from '../../shared/ui/rate-text.js';
import { Sparkline } from '../../shared/ui/sparkline.js';
import { StatusBadge, statusOf } from '../../shared/ui/status-badge.js';
import type { NfTexts } from './nf-size.js';
import classes from './parallelism.module.css';
import type { StepVertex } from './step-graph.js';

interface NfBoxProps {
  readonly vertex: Extract<StepVertex, { kind: 'nf' }>;
  readonly definition: ChainDefinition;
  readonly texts: NfTexts;
  readonly live: boolean;
}

/** An NF of the chain: kind, name, place, live rate, and its state on its edge. */
export function NfBox({ vertex: { node, nf, instances }, definition, texts, live }: NfBoxProps) {
  const { data: descriptors } = useNfDescriptors();
  const descriptor = descriptors?.find(({ id }) => id === nf);
  const { name, kind, place } = texts;
  const state = useWorstState(live ? instances : []);
  const key = sampleKey('nf', `${definition.name}.${node}`, 'pps');
  return (
    <div className={classes.nf} data-status={state ? statusOf(state) : undefined}>
      <span className={classes.nfName}>
        <NfIcon icon={descriptor?.icon} size={14} />
        <span className={classes.nfTitle}>{name}</span>
        {state && <StatusBadge state={state} label={SHOWN_WORDS[state]} compact />}
      </span>
      <span className={classes.nfKind}>{kind}</span>
      {place !== null && <span className={classes.nfKind}>{place}</span>}
      {live && (
        <span className={classes.nfRate}>
          {place !== null && (
            <Sparkline sampleKey={key} quantity="pps" label={`${name}, packets per second`} width={44} height={16} />
          )}
          <LiveRate sampleKey={key} quantity="pps" />
        </span>
      )}
    </div>
  );
}

/** Worst state of the instances as agents report it; null: none is known. */
function useWorstState(instances: readonly Instance[]): ShownState | null {
  const { data } = useNfInstances();
  const { data: deployments } = useDeployments();
  const ids = new Set(instances.map(({ id }) => id));
  const chain = deployments?.find(({ chain_id }) => chain_id === instances[0]?.chain_id)?.state;
  const states = (data ?? []).flatMap(({ id, state }) => (ids.has(id) ? [shownState(state, chain)] : []));
  return WORST_FIRST.find((state) => states.includes(state)) ?? null;
}

const WORST_FIRST: readonly ShownState[] = [
  'failed',
  'degraded',
  'unknown',
  'starting',
  'stopping',
  'pending',
  'running',
];

/** `server-1, core 2`; of several instances their number and servers. */
export function placeText(instances: readonly Instance[]): string {
  const [only, ...others] = instances;
  if (!only) return 'no instance';
  const servers = [...new Set(instances.map(({ server }) => server))];
  if (others.length > 0) return `${instances.length} on ${servers.join(', ')}`;
  return `${only.server}, ${spotText({ ...only, slot: only.board ?? null })}`;
}
