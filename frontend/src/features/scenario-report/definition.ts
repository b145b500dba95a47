import type { PageDefinition } from '../../shared/page/definition.js';

export const scenarioReportPage: PageDefinition = {
  path: '/scenarios/runs/:id',
  title: 'Scenario run',
  load: () => import('./page.js'),
};
