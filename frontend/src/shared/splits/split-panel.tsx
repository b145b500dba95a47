import { Button } from '@mantine/core';
import type { NfSplit, Plan, PlannedSplit } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { IconArrowBackUp } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useDeployments, useOperations, useScalings } from '../api/queries.js';
import { useMay } from '../api/session.js';
import { countText } from '../format/number.js';
import { RangeBar } from '../plan/range-bar.js';
import { useSample, useStale } from '../stream/hooks.js';
import { LiveRate, RateText } from '../ui/rate-text.js';
import { Reason } from '../ui/reason.js';
import { RelativeTime } from '../ui/relative-time.js';
import { HandoverNote } from './handover-note.js';
import { lastSplitChange } from './split-changes.js';
import { SPLIT_WINDOW_S, splitRateKey, useSplitRates } from './split-rates.js';
import classes from './splits.module.css';
import { stageText } from './stage-text.js';

const SplitDialog = lazy(() => import('./split-dialog.js'));

interface SplitPanelProps {
  readonly split: PlannedSplit;
  /** The plan in force. */
  readonly plan: Plan;
}

interface Asked {
  readonly title: string;
  readonly split: NfSplit | null;
}

/** How the flows of an NF are split over its instances, planned and live, and the way to change that. */
export function SplitPanel({ split, plan }: SplitPanelProps) {
  const { chain_id, node_id, keep_flows, at } = split;
  const { data: deployments } = useDeployments();
  const { data: operations } = useOperations();
  const { data: scalings } = useScalings();
  const mayOperate = useMay('operator');
  const [asked, setAsked] = useState<Asked | null>(null);
  const deployment = deployments?.find((it) => it.chain_id === chain_id);
  const planned = plan.chains.find((it) => it.chain_id === chain_id);
  const chain = planned?.definition.name ?? '';
  const staged = planned?.splits?.find((it) => it.node_id === node_id)?.staged;
  const isChanging = deployment?.state === 'deploying' || deployment?.state === 'undeploying';
  const scaling = scalings?.find(({ nf, state }) => nf.chain_id === chain_id && state === 'running');
  const obstacle = scaling
    ? `${scaling.nf.node_id} is being scaled.`
    : isChanging
      ? 'The chain is being changed.'
      : null;
  const last = operations ? lastSplitChange(operations.items, chain_id, node_id) : null;
  return (
    <>
      <LiveRanges split={split} />
      <p className={classes.note}>
        {at === 'switch' ? 'Switches split.' : 'Engines split.'}{' '}
        {keep_flows
          ? `Flows in progress stay until idle for ${keep_flows.idle_timeout_s} s; at most ${countText(keep_flows.capacity)} are tracked.`
          : 'Flows in progress follow the ranges when these change.'}{' '}
        {keep_flows && (
          <>
            Packets of flows without room:{' '}
            <LiveRate sampleKey={sampleKey('nf', `${chain}.${node_id}`, 'untracked_pps')} quantity="pps" />
          </>
        )}
      </p>
      {staged && <p className={classes.note}>{stageText(staged)}</p>}
      {staged?.held && <HandoverNote chain_id={chain_id} node_id={node_id} />}
      {mayOperate && deployment && (
        <div className={classes.row}>
          {last && obstacle === null && (
            <>
              <span className="muted">
                changed <RelativeTime t_ms={last.operation.updated_ms} />, by {last.operation.by}
              </span>
              <Button
                variant="subtle"
                leftSection={<IconArrowBackUp size={14} aria-hidden />}
                onClick={() => setAsked({ title: `Undo: ranges of ${node_id} as before`, split: last.before })}
              >
                Undo
              </Button>
            </>
          )}
          <Reason of={obstacle}>
            <Button
              variant="default"
              disabled={obstacle !== null}
              onClick={() => setAsked({ title: `Ranges of ${node_id}`, split: null })}
            >
              Change ranges
            </Button>
          </Reason>
        </div>
      )}
      {asked && deployment && (
        <Suspense fallback={null}>
          <SplitDialog
            title={asked.title}
            split={split}
            version={deployment.version}
            plan={plan}
            asked={asked.split}
            onClose={() => setAsked(null)}
          />
        </Suspense>
      )}
    </>
  );
}

/** The ranges of the instances, with what the split sends to each of them now. */
function LiveRanges({ split: { node_id, targets } }: Pick<SplitPanelProps, 'split'>) {
  const parts = targets.map(({ instance_id, server, range }) => ({ to: instance_id, server, ranges: [range] }));
  const rates = useSplitRates(parts.map(({ to }) => to));
  const rateOf = (id: string) => rates[parts.findIndex(({ to }) => to === id)];
  return (
    <RangeBar
      label={`Instances of ${node_id}`}
      parts={parts}
      windowS={SPLIT_WINDOW_S}
      liveShareOf={({ to }) => <SplitFigure of={to} quantity="share" value={rateOf(to)?.share} />}
      rateOf={({ to }) => <SplitFigure of={to} quantity="pps" value={rateOf(to)?.pps} />}
      exceptionsOf={({ to }) => <LiveRate sampleKey={sampleKey('instance', to, 'exceptions')} quantity="count" />}
    />
  );
}

interface SplitFigureProps {
  /** Of which instance. */
  readonly of: string;
  readonly quantity: 'share' | 'pps';
  readonly value: number | null | undefined;
}

/** Stale once nothing new is told of its own instance. */
function SplitFigure({ of, quantity, value }: SplitFigureProps) {
  const stale = useStale(useSample(splitRateKey(of))?.received_ms);
  return <RateText quantity={quantity} value={value} stale={stale} />;
}
