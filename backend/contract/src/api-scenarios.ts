import { pageOf } from './lifecycle.js';
import { defineRoutes } from './route-definition.js';
import { byId, page } from './route-parameters.js';
import { Scenario, ScenarioReport, ScenarioRequest, ScenarioRun } from './scenario.js';

/** Published experiments that the twin reproduces. */
export const SCENARIO_ROUTES = defineRoutes({
  listScenarios: {
    method: 'GET',
    path: '/scenarios',
    tag: 'scenarios',
    summary: 'List published experiments that the twin can reproduce',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(Scenario),
  },
  startScenario: {
    method: 'POST',
    path: '/scenarios/{id}/runs',
    tag: 'scenarios',
    summary:
      'Run a scenario, one at a time. It creates and removes its own chains; if a prerequisite is missing, the call is refused and nothing starts',
    role: 'designer',
    params: byId,
    body: ScenarioRequest,
    status: 202,
    response: ScenarioRun,
    problems: [404, 409],
    location: true,
  },
  listScenarioRuns: {
    method: 'GET',
    path: '/scenario-runs',
    tag: 'scenarios',
    summary: 'List scenario runs, newest first',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(ScenarioRun),
  },
  getScenarioRun: {
    method: 'GET',
    path: '/scenario-runs/{id}',
    tag: 'scenarios',
    summary: 'Get the report of a run: its figures next to the published ones, and plots',
    role: 'viewer',
    params: byId,
    status: 200,
    response: ScenarioReport,
    problems: [404],
  },
  stopScenarioRun: {
    method: 'DELETE',
    path: '/scenario-runs/{id}',
    tag: 'scenarios',
    summary: 'Stop a run and remove everything it created; 409 while the control loop "Scenarios" is paused',
    role: 'operator',
    params: byId,
    status: 204,
    problems: [404, 409],
  },
});
