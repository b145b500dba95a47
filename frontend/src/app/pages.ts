import { acceleratorsPage } from '../features/accelerators/definition.js';
import { agentsPage } from '../features/agents/definition.js';
import { capabilitiesPage } from '../features/capabilities/definition.js';
import { cataloguePage } from '../features/catalogue/definition.js';
import { chainEditorPage } from '../features/chain-editor/definition.js';
import { chainListPage } from '../features/chain-list/definition.js';
import { chainPlanPage } from '../features/chain-plan/definition.js';
import { controlLoopsPage } from '../features/control-loops/definition.js';
import { eventsPage } from '../features/events/definition.js';
import { operationsPage } from '../features/operations/definition.js';
import { overviewPage } from '../features/overview/definition.js';
import { parallelismPage } from '../features/parallelism/definition.js';
import { scenarioReportPage } from '../features/scenario-report/definition.js';
import { serviceRequestsPage } from '../features/service-requests/definition.js';
import { slosPage } from '../features/slos/definition.js';
import { switchesPage } from '../features/switches/definition.js';
import { topologyPage } from '../features/topology/definition.js';
import { twinLabPage } from '../features/twin-lab/definition.js';
import { webhooksPage } from '../features/webhooks/definition.js';
import { mayAs, useSession } from '../shared/api/session.js';
import type { PageDefinition } from '../shared/page/definition.js';

/** Every page, in the order of the navigation. A page is one folder under `features` and one line here. */
export const PAGES: readonly PageDefinition[] = [
  overviewPage,
  chainListPage,
  chainEditorPage,
  chainPlanPage,
  serviceRequestsPage,
  cataloguePage,
  topologyPage,
  switchesPage,
  acceleratorsPage,
  parallelismPage,
  slosPage,
  eventsPage,
  operationsPage,
  controlLoopsPage,
  twinLabPage,
  scenarioReportPage,
  agentsPage,
  webhooksPage,
  capabilitiesPage,
];

/** The server's interactive API reference. */
export const API_REFERENCE = { path: '/api/docs', title: 'API reference', group: 'system' } as const;

type OfferedPage = PageDefinition & Required<Pick<PageDefinition, 'navigation'>>;

/** The pages that navigation and palette offer to the signed-in user. */
export function useOfferedPages(): readonly OfferedPage[] {
  const session = useSession();
  return PAGES.filter(
    (page): page is OfferedPage => page.navigation !== undefined && (!page.role || mayAs(session, page.role)),
  );
}
