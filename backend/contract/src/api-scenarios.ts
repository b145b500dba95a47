import { pageOf } from './lifecycle.js';
import { defineRoutes } from './route-definition.js';
import { byId, page } from './route-parameters.js';
import { Scenario, ScenarioRun } from './scenario.js';

/** Published experiments that the twin runs again. */
export const SCENARIO_ROUTES = defineRoutes({
  listScenarios: {
    method: 'GET',
    path: '/scenarios',
    tag: 'scenarios',
    summary: 'Published experiments that the twin can run again',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(Scenario),
  },
  startScenario: {
    method: 'POST',
    path: '/scenarios/{id}/runs',
    tag: 'scenarios',
    summary: 'Run a scenario, which makes and removes chains of its own; one at a time',
    role: 'designer',
    params: byId,
    status: 202,
    response: ScenarioRun,
    problems: [404, 409, 502],
    location: true,
  },
  listScenarioRuns: {
    method: 'GET',
    path: '/scenario-runs',
    tag: 'scenarios',
    summary: 'Runs, the newest first',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(ScenarioRun),
  },
  getScenarioRun: {
    method: 'GET',
    path: '/scenario-runs/{id}',
    tag: 'scenarios',
    summary: 'One run with its figures beside the published ones',
    role: 'viewer',
    params: byId,
    status: 200,
    response: ScenarioRun,
    problems: [404],
  },
  stopScenarioRun: {
    method: 'DELETE',
    path: '/scenario-runs/{id}',
    tag: 'scenarios',
    summary: 'Stop a run and remove what it made',
    role: 'operator',
    params: byId,
    status: 204,
    problems: [404],
  },
});
