import { IconFlask } from '@tabler/icons-react';
import { Link } from 'react-router';
import { useScenarioRuns } from '../../shared/api/queries.js';
import { useNeeds } from '../../shared/api/session.js';
import { Panel } from '../../shared/page/page-header.js';
import { useScenarios } from '../../shared/scenario/use-scenarios.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { ScenarioItem } from './scenario-item.js';
import { newestRun, titleOf, whyNotRun } from './scenario-text.js';
import classes from './scenarios.module.css';

/** Published experiments that the twin reproduces, with results next to the published ones. */
export function Scenarios() {
  const scenarios = useScenarios();
  const runs = useScenarioRuns();
  const all = runs.data?.items ?? [];
  const running = all.find(({ state }) => state === 'running');
  const refusal = whyNotRun(useNeeds('designer'), scenarios.data ?? [], all);
  return (
    <Panel title="Scenarios" flush>
      {running && (
        <p className={classes.now}>
          <StatusBadge state="running" status="working" />
          <Link to={`/scenarios/runs/${running.id}`}>{titleOf(scenarios.data ?? [], running)}</Link>
        </p>
      )}
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
                refusal={refusal}
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
