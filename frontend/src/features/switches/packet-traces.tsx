import { Button, NumberInput, Select } from '@mantine/core';
import type { PacketTrace, PacketTraces as Read, SwitchState, TraceStep } from '@orrery/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../shared/api/client.js';
import { useNeeds } from '../../shared/api/session.js';
import { countText } from '../../shared/format/number.js';
import { notifyError } from '../../shared/ui/notify.js';
import { EmptyState, ErrorState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './packet-traces.module.css';
import { outcomeText, phased, stepText, valueText } from './trace-text.js';

const POLL_MS = 1000;
const DEFAULT_COUNT = 10;
/** Of `TraceRequest`. */
const MOST_ARMED_TRACES = 100;

/** Traces of packets of a P4 switch: which states, tables and actions each took. */
export function PacketTraces({ state }: { readonly state: SwitchState }) {
  const { id, connected, description } = state;
  const queries = useQueryClient();
  const key = ['traces', id];
  const query = useQuery({
    queryKey: key,
    enabled: description?.abilities.traces === true && connected,
    refetchInterval: POLL_MS,
    queryFn: ({ signal }) => call('listTraces', { params: { id }, query: { after: 0 } }, { signal }),
  });
  const [chosen, choose] = useState<number | null>(null);
  const arm = useMutation({
    mutationFn: (body: { count: number; port?: string }) => call('armTraces', { params: { id }, body }),
    onError: (error) => notifyError('No packet will be traced', error),
    onSettled: () => queries.invalidateQueries({ queryKey: key }),
  });
  if (!description?.abilities.traces)
    return (
      <EmptyState title="No traces of packets">
        {description
          ? `The driver ${description.driver} does not tell what it does with single packets. The built-in P4 switch does: choose it on Topology.`
          : 'Its agent has never connected.'}
      </EmptyState>
    );
  const traces = (query.data?.traces ?? []).toReversed();
  const shown = traces.find(({ sequence }) => sequence === chosen) ?? traces[0];
  return (
    <>
      <Tools state={state} read={query.data} busy={arm.isPending} onArm={(body) => arm.mutate(body)} />
      {query.isError && <ErrorState error={query.error} />}
      {traces.length === 0 && !query.isError && (
        <EmptyState title="No packet has been traced">
          Trace the next packets, and let some traffic flow: each leaves the path that it took through the program.
        </EmptyState>
      )}
      {shown && (
        <div className={classes.body}>
          <ol className={classes.list} aria-label="Traced packets, newest first">
            {traces.map((trace) => (
              <li key={trace.sequence}>
                <button
                  type="button"
                  className={classes.packet}
                  aria-current={trace === shown}
                  onClick={() => choose(trace.sequence)}
                >
                  <span className={classes.number}>{trace.sequence}</span>
                  <span>
                    {trace.port}, {outcomeText(trace)}
                  </span>
                </button>
              </li>
            ))}
          </ol>
          <TraceSteps trace={shown} />
        </div>
      )}
    </>
  );
}

interface ToolsProps {
  readonly state: SwitchState;
  readonly read: Read | undefined;
  readonly busy: boolean;
  readonly onArm: (body: { count: number; port?: string }) => void;
}

function Tools({ state, read, busy, onArm }: ToolsProps) {
  const [count, setCount] = useState<number | string>(DEFAULT_COUNT);
  const [port, setPort] = useState<string | null>(null);
  const refusal = useNeeds('operator') ?? (state.connected ? null : 'The agent of the switch is not connected');
  const armed = read?.armed ?? 0;
  const ports = state.observed?.ports.map(({ name }) => name) ?? [];
  const isCount = typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= MOST_ARMED_TRACES;
  return (
    <div className={classes.tools}>
      <Select
        label="Packets from"
        size="xs"
        placeholder="every port"
        clearable
        data={ports}
        value={port}
        onChange={setPort}
      />
      <NumberInput
        label="How many"
        size="xs"
        w={90}
        min={1}
        max={MOST_ARMED_TRACES}
        value={count}
        onChange={setCount}
        error={isCount ? null : `1 to ${MOST_ARMED_TRACES}`}
      />
      <Button
        size="xs"
        loading={busy}
        disabled={refusal !== null || !isCount}
        title={refusal ?? undefined}
        onClick={() => isCount && onArm({ count, ...(port !== null && { port }) })}
      >
        Trace the next packets
      </Button>
      {armed > 0 && (
        <Button size="xs" variant="default" disabled={refusal !== null} onClick={() => onArm({ count: 0 })}>
          Stop
        </Button>
      )}
      <span className={classes.status} role="status">
        {armed > 0 && `waits for ${countText(armed)} more ${armed === 1 ? 'packet' : 'packets'}`}
        {(read?.lost ?? 0) > 0 && `${armed > 0 ? '; ' : ''}${countText(read?.lost)} older traces were dropped`}
      </span>
    </div>
  );
}

function TraceSteps({ trace }: { readonly trace: PacketTrace }) {
  return (
    <section aria-label={`Steps of packet ${trace.sequence}`}>
      <ol className={classes.steps}>
        {phased(trace.steps).map(({ step, phase }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps of a trace never change
          <li key={i}>
            {phase !== null && <h3 className={classes.phase}>{phase}</h3>}
            <Step step={step} />
          </li>
        ))}
      </ol>
      {trace.left_out > 0 && <p className="muted">{countText(trace.left_out)} more steps were left out.</p>}
    </section>
  );
}

function Step({ step }: { readonly step: TraceStep }) {
  const { title, detail } = stepText(step);
  const values = step.step === 'table_lookup' ? step.key : step.step === 'action_run' ? step.args : [];
  return (
    <div className={classes.step} data-kind={step.step}>
      <span className={classes.name}>{title}</span>
      {step.step === 'table_lookup' && (
        <>
          {' '}
          <StatusBadge state={step.hit ? 'hit' : 'miss'} status={step.hit ? 'healthy' : 'idle'} lasting />
        </>
      )}
      {detail !== null && <span className={classes.detail}>{detail}</span>}
      {values.length > 0 && (
        <dl className={classes.values}>
          {values.map(({ name, value }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd title={value}>{valueText(name, value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}
