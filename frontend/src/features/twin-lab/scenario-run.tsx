import type { Scenario, ScenarioRun } from '@orrery/contract';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { durationText } from '../../shared/format/time.js';
import { RunBadge } from '../../shared/scenario/run-badge.js';
import { RunSteps } from '../../shared/scenario/run-steps.js';
import { WATCHED_PAGES } from '../../shared/scenario/watched-pages.js';
import { useNow } from '../../shared/stream/clock.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { cleaningText, runShare } from './scenario-text.js';
import classes from './scenarios.module.css';

interface RunProgressProps {
  readonly run: ScenarioRun;
  /** As its scenario declares it. */
  readonly watch: Scenario['watch'];
}

/** Progress or outcome of a run, with its steps until it has completed. */
export function RunProgress({ run, watch }: RunProgressProps) {
  const now = useNow();
  const titleOf = useChainTitle();
  const share = runShare(run);
  const page = watch && WATCHED_PAGES[watch];
  return (
    <div className={classes.run}>
      <div className={classes.runHead} role="status">
        <RunBadge run={run} doing={cleaningText(run)} />
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
            {page && <Link to={page.path}>Watch it on {page.title}</Link>}
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
