import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Scenario, ScenarioRun } from '@orrery/contract';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useNeeds } from '../../shared/api/session.js';
import { FiguresTable } from '../../shared/scenario/figures-table.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { ScenarioForm } from './scenario-form.js';
import { RunProgress } from './scenario-run.js';
import { aboutText, cleaningText } from './scenario-text.js';
import classes from './scenarios.module.css';

interface ScenarioItemProps {
  readonly scenario: Scenario;
  /** Why no scenario can be started now; null: those can that the session has the role for. */
  readonly refusal: string | null;
  readonly run: ScenarioRun | undefined;
  /** The newest run that has figures. */
  readonly told: ScenarioRun | undefined;
}

/** A scenario with its newest run: started, stopped and read here. */
export function ScenarioItem({ scenario, refusal, run, told }: ScenarioItemProps) {
  const queries = useQueryClient();
  const needs = useNeeds('operator');
  const lacks = useNeeds(scenario.role);
  const again = () => queries.invalidateQueries({ queryKey: ['scenario-runs'] });
  const [opened, { open, close }] = useDisclosure(false);
  const stop = useMutation({
    mutationFn: (id: string) => call('stopScenarioRun', { params: { id } }),
    onError: (error) => notifyError('The run was not stopped', error),
    onSettled: again,
  });
  const running = run?.state === 'running';
  const cleaning = run ? cleaningText(run) : null;
  const noRun = lacks ?? refusal;
  const noStop = needs ?? (cleaning && `It is ${cleaning}`);
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
        {running ? (
          <Reason of={noStop}>
            <ConfirmButton
              size="compact-xs"
              loading={stop.isPending}
              disabled={noStop !== null}
              aria-label={`Stop ${scenario.title}`}
              message="The run ends and what it made is removed."
              confirmLabel="Stop"
              onConfirm={() => stop.mutate(run.id)}
            >
              Stop
            </ConfirmButton>
          </Reason>
        ) : (
          <Reason of={noRun}>
            <Button
              size="compact-xs"
              leftSection={<IconPlayerPlay size={13} aria-hidden />}
              disabled={noRun !== null}
              aria-label={`Run ${scenario.title}`}
              onClick={open}
            >
              Run…
            </Button>
          </Reason>
        )}
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
      {run && <RunProgress run={run} watch={scenario.watch} />}
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
