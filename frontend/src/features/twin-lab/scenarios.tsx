import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Scenario, ScenarioRun } from '@orrery/contract';
import { IconFlask, IconPlayerPlay } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import { listAll } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { durationText } from '../../shared/format/time.js';
import { Panel } from '../../shared/page/page-header.js';
import { FiguresTable } from '../../shared/scenario/figures-table.js';
import { RunSteps } from '../../shared/scenario/run-steps.js';
import { useNow } from '../../shared/stream/clock.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { ScenarioForm } from './scenario-form.js';
import { aboutText, newestRun, runShare } from './scenario-text.js';
import classes from './scenarios.module.css';

function useScenarioRuns() {
  return useQuery({
    queryKey: ['scenario-runs'],
    queryFn: ({ signal }) => call('listScenarioRuns', { query: { limit: 50 } }, { signal }),
    refetchInterval: ({ state }) => (state.data?.items.some((run) => run.state === 'running') ? 1000 : 10_000),
  });
}

/** Published experiments that the twin reproduces, with results next to the published ones. */
export function Scenarios() {
  const scenarios = useQuery({
    queryKey: ['scenarios'],
    queryFn: ({ signal }) => listAll('listScenarios', {}, signal),
  });
  const runs = useScenarioRuns();
  const all = runs.data?.items ?? [];
  return (
    <Panel title="Scenarios" flush>
      <QueryBoundary query={scenarios} rows={3}>
        {scenarios.data?.length === 0 ? (
          <EmptyState icon={IconFlask} title="There is no scenario">
            A scenario creates chains, sends traffic and shows its figures next to the published ones.
          </EmptyState>
        ) : (
          <ul className={classes.list}>
            {scenarios.data?.map((scenario) => (
              <ScenarioItem
                key={scenario.id}
                scenario={scenario}
                run={newestRun(all, scenario.id)}
                told={newestRun(all, scenario.id, ({ figures }) => figures.length > 0)}
              />
            ))}
          </ul>
        )}
      </QueryBoundary>
    </Panel>
  );
}

interface ScenarioItemProps {
  readonly scenario: Scenario;
  readonly run: ScenarioRun | undefined;
  /** The newest run that has figures. */
  readonly told: ScenarioRun | undefined;
}

function ScenarioItem({ scenario, run, told }: ScenarioItemProps) {
  const queries = useQueryClient();
  const may = useMay('operator');
  const again = () => queries.invalidateQueries({ queryKey: ['scenario-runs'] });
  const [opened, { open, close }] = useDisclosure(false);
  const stop = useMutation({
    mutationFn: (id: string) => call('stopScenarioRun', { params: { id } }),
    onError: (error) => notifyError('The run was not stopped', error),
    onSettled: again,
  });
  const running = run?.state === 'running';
  return (
    <li className={classes.scenario}>
      <div className={classes.head}>
        <div>
          <h3>{scenario.title}</h3>
          <p>{scenario.summary}</p>
          <p className="muted">
            {[
              scenario.source,
              `about ${aboutText(scenario.duration_s)}`,
              scenario.needs.length > 0 && `needs ${scenario.needs.join(', ')}`,
            ]
              .filter(Boolean)
              .join(' · ')}
          </p>
        </div>
        {may &&
          (running ? (
            <ConfirmButton
              size="compact-xs"
              loading={stop.isPending}
              aria-label={`Stop ${scenario.title}`}
              message="The run ends and what it made is removed."
              confirmLabel="Stop"
              onConfirm={() => stop.mutate(run.id)}
            >
              Stop
            </ConfirmButton>
          ) : (
            <Button
              size="compact-xs"
              leftSection={<IconPlayerPlay size={13} aria-hidden />}
              aria-label={`Run ${scenario.title}`}
              onClick={open}
            >
              Run…
            </Button>
          ))}
      </div>
      {opened && (
        <ScenarioForm
          scenario={scenario}
          onClose={close}
          onStarted={() => {
            close();
            void again();
          }}
        />
      )}
      {run && <Run run={run} />}
      {told && (
        <>
          {told !== run && (
            <p className={`muted ${classes.before}`}>
              Figures of the previous run, <RelativeTime t_ms={told.started_ms} />
            </p>
          )}
          <FiguresTable figures={told.figures} />
        </>
      )}
    </li>
  );
}

function Run({ run }: { readonly run: ScenarioRun }) {
  const now = useNow();
  const titleOf = useChainTitle();
  const share = runShare(run);
  return (
    <div className={classes.run}>
      <div className={classes.runHead} role="status">
        <StatusBadge state={run.state} status={run.state === 'running' ? 'working' : undefined} />
        <span className="muted tabular">
          {run.ended_ms === null ? (
            durationText(now - run.started_ms)
          ) : (
            <>
              <RelativeTime t_ms={run.ended_ms} />, took {durationText(run.ended_ms - run.started_ms)}
            </>
          )}
        </span>
        <Link to={`/scenarios/runs/${run.id}`}>Report</Link>
        {run.state === 'running' && (
          <>
            <span className={classes.track}>
              <span style={{ width: `${share * 100}%` }} />
            </span>
            <Link to="/accelerators">Watch it on Accelerators</Link>
          </>
        )}
      </div>
      {run.detail && !run.steps.some(({ detail }) => detail === run.detail) && (
        <p className={classes.detail}>{run.detail}</p>
      )}
      {run.state !== 'completed' && run.steps.length > 0 && <RunSteps run={run} />}
      {run.chains.length > 0 && run.state === 'running' && (
        <p className="muted">
          Chains of the run:{' '}
          {run.chains.map((id, index) => (
            <span key={id}>
              {index > 0 && ', '}
              <Link to={chainPath(id)}>{titleOf(id)}</Link>
            </span>
          ))}
        </p>
      )}
    </div>
  );
}
