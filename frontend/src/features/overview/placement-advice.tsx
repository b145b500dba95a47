import { Button, Group, Modal } from '@mantine/core';
import type { PlacementAdvice } from '@orrery/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../shared/api/client.js';
import { usePlan } from '../../shared/api/queries.js';
import { useNeeds } from '../../shared/api/session.js';
import { countText } from '../../shared/format/number.js';
import { quantityText } from '../../shared/format/quantity.js';
import { dateTimeText } from '../../shared/format/time.js';
import { Panel } from '../../shared/page/page-header.js';
import { PlanChanges } from '../../shared/plan/plan-changes.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { useFocusReturn } from '../../shared/ui/focus-return.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { notifyDone, notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { DriftDialog } from './drift-dialog.js';
import classes from './overview.module.css';

/** Moves that are named before they are made; the rest is counted. */
const MOST_NAMED = 6;

/** Whether what runs is placed well, what drifted, and a better placement where one is advised or being applied. */
export function Placement() {
  const { data: advice, error } = useQuery({
    queryKey: ['placement-advice'],
    queryFn: ({ signal }) => call('getPlacementAdvice', {}, { signal }),
    refetchInterval: 10_000,
  });
  if (error && !advice) return <Panel title="Placement">Whether another is better is not known: {error.message}</Panel>;
  if (!advice) return null;
  const { state, why, gain, disruption, refusal, compared_ms, dismissed_until_ms } = advice;
  return (
    <Panel title="Placement">
      <div className={classes.advice}>
        {gain && disruption && (
          <p>
            <LastKnown>{sentence(state, gain, disruption)}</LastKnown>
          </p>
        )}
        {refusal && <p role="alert">Not applied: {refusal}</p>}
        <p className="muted">
          <LastKnown word=" Stale.">{whyText(why, disruption)}</LastKnown>{' '}
          {compared_ms !== null && (
            <span>
              Compared <RelativeTime t_ms={compared_ms} />.
            </span>
          )}
        </p>
        {dismissed_until_ms !== null && <p>Dismissed: nothing is advised until {dateTimeText(dismissed_until_ms)}.</p>}
      </div>
      <Group gap="xs">
        {state === 'advise' && <AdviceActions advice={advice} />}
        {(compared_ms !== null || advice.drift.length > 0) && <DriftButton advice={advice} />}
      </Group>
    </Panel>
  );
}

type Gain = NonNullable<PlacementAdvice['gain']>;
type Disruption = NonNullable<PlacementAdvice['disruption']>;

function sentence(state: PlacementAdvice['state'], gain: Gain, { moved }: Disruption): string {
  const saves = gainText(gain);
  const moves = nfsText(moved.length);
  return state === 'applying'
    ? `A better placement is being applied: it ${saves} and moves ${moves}.`
    : `A better placement exists: it ${saves}, and moves ${moves}.`;
}

const nfsText = (count: number) => `${countText(count)} ${count === 1 ? 'NF' : 'NFs'}`;

/** What counts most of a gain. */
function gainText({ objectives, overloaded_cores, cross_traffic_bps }: Gain): string {
  if (objectives > 0) return objectives === 1 ? 'meets an objective again' : `meets ${objectives} objectives again`;
  if (overloaded_cores > 0) return `relieves ${overloaded_cores} ${overloaded_cores === 1 ? 'core' : 'cores'}`;
  return `saves ${quantityText('bps', cross_traffic_bps)} between servers`;
}

function whyText(why: string, disruption: Disruption | null): string {
  const text = why.replace(/\.?$/, '.');
  return disruption ? `${text} ${costText(disruption)}` : text;
}

function costText({ flows, states_moved, states_lost, seconds }: Disruption): string {
  return [
    ...(states_lost > 0 ? [`Flow state of ${nfsText(states_lost)} is lost.`] : []),
    ...(states_moved > 0 ? [`Flow state of ${nfsText(states_moved)} moves along.`] : []),
    ...(states_lost + states_moved === 0 ? ['No flow state has to move.'] : []),
    ...(flows === null ? [] : [`${countText(flows)} ${flows === 1 ? 'flow is' : 'flows are'} in progress there.`]),
    ...(seconds === null ? [] : [`The last moves took ${quantityText('ms', 1000 * seconds)}.`]),
  ].join(' ');
}

/** A line for each move: `web.fw.0 moves from server-1 to server-2.`; then `And 3 more move.` */
function movesText(moved: Disruption['moved']): string {
  const named = moved
    .slice(0, MOST_NAMED)
    .map(({ instance, from, to }) => `${instance} moves from ${from} to ${to}.`)
    .join('\n');
  const more = moved.length - MOST_NAMED;
  return more > 0 ? `${named}\nAnd ${countText(more)} more ${more === 1 ? 'moves' : 'move'}.` : named;
}

function AdviceActions({ advice }: { readonly advice: PlacementAdvice }) {
  const queries = useQueryClient();
  const refusal = useNeeds('operator');
  const [isPlanShown, showPlan] = useState(false);
  const ifMatch = `"${advice.revision}"`;
  const onSettled = () => queries.invalidateQueries({ queryKey: ['placement-advice'] });
  const apply = useMutation({
    mutationFn: () => call('applyPlacementAdvice', {}, { ifMatch }),
    onSuccess: () => notifyDone('The better placement is being applied.'),
    onError: (error) => notifyError('The better placement is not applied', error),
    onSettled,
  });
  const dismiss = useMutation({
    mutationFn: () => call('dismissPlacementAdvice', { body: { hours: 24 } }, { ifMatch }),
    onSuccess: () => notifyDone('Nothing is advised for a day.'),
    onError: (error) => notifyError('The advice is not dismissed', error),
    onSettled,
  });
  return (
    <>
      <Button variant="default" onClick={() => showPlan(true)}>
        Show plan
      </Button>
      <Reason of={refusal}>
        <ConfirmButton
          message={<span className={classes.moves}>{movesText(advice.disruption!.moved)}</span>}
          confirmLabel="Apply"
          disabled={refusal !== null}
          loading={apply.isPending}
          onConfirm={() => apply.mutate()}
        >
          Apply…
        </ConfirmButton>
      </Reason>
      <Reason of={refusal}>
        <Button
          variant="subtle"
          disabled={refusal !== null}
          loading={dismiss.isPending}
          onClick={() => dismiss.mutate()}
        >
          Dismiss for a day
        </Button>
      </Reason>
      {isPlanShown && advice.plan_id !== null && <PlanDialog id={advice.plan_id} onClose={() => showPlan(false)} />}
    </>
  );
}

function DriftButton({ advice }: { readonly advice: PlacementAdvice }) {
  const [isShown, show] = useState(false);
  return (
    <>
      <Button variant="default" onClick={() => show(true)}>
        What drifted
      </Button>
      {isShown && <DriftDialog advice={advice} onClose={() => show(false)} />}
    </>
  );
}

function PlanDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  useFocusReturn();
  const { data: plan, error } = usePlan(id);
  return (
    <Modal opened onClose={onClose} size={720} centered title="Better placement">
      {plan ? <PlanChanges plan={plan} /> : (error?.message ?? 'Loading the plan…')}
    </Modal>
  );
}
