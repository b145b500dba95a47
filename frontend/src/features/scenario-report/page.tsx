import { Button } from '@mantine/core';
import type { ScenarioReport } from '@orrery/contract';
import { IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { call } from '../../shared/api/client.js';
import { download } from '../../shared/files/csv.js';
import { PageBody, PageHeader, PageLink, Panel } from '../../shared/page/page-header.js';
import { FiguresTable } from '../../shared/scenario/figures-table.js';
import { RunSteps } from '../../shared/scenario/run-steps.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { RunFacts } from './facts.js';
import { PlotPanel } from './plot-panel.js';
import { figuresCsv } from './report-files.js';

const POLL_MS = 1000;

function useReport(id: string) {
  return useQuery({
    queryKey: ['scenario-runs', 'one', id],
    queryFn: ({ signal }) => call('getScenarioRun', { params: { id } }, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? POLL_MS : false),
  });
}

/** Results of a scenario run next to the published ones, and how to reproduce it. */
export function Component() {
  const { id = '' } = useParams();
  const query = useReport(id);
  const report = query.data;
  return (
    <>
      <PageHeader title={report?.title || 'Scenario run'} actions={report && <Downloads report={report} />}>
        <PageLink to="/twin">All scenarios</PageLink>
      </PageHeader>
      <PageBody>
        <QueryBoundary query={query}>{report && <Report report={report} />}</QueryBoundary>
      </PageBody>
    </>
  );
}

function Report({ report }: { readonly report: ScenarioReport }) {
  return (
    <>
      <RunFacts report={report} />
      <Panel title="Published and here" flush>
        {report.figures.length > 0 ? (
          <FiguresTable figures={report.figures} />
        ) : (
          <EmptyState title="No figures">
            {report.state === 'running' ? 'They appear as they are measured.' : 'The run ended before it had any.'}
          </EmptyState>
        )}
      </Panel>
      {report.plots.map((plot) => (
        <PlotPanel key={plot.title} plot={plot} />
      ))}
      <Panel title="Steps">
        <RunSteps run={report} />
      </Panel>
    </>
  );
}

function Downloads({ report }: { readonly report: ScenarioReport }) {
  const icon = <IconDownload size={14} aria-hidden />;
  const saveCsv = () => download(`${report.id}.csv`, figuresCsv(report), 'text/csv');
  const saveJson = () => download(`${report.id}.json`, JSON.stringify(report, null, 2), 'application/json');
  return (
    <>
      <Button variant="default" leftSection={icon} onClick={saveCsv}>
        Figures as CSV
      </Button>
      <Button variant="default" leftSection={icon} onClick={saveJson}>
        Report as JSON
      </Button>
    </>
  );
}
