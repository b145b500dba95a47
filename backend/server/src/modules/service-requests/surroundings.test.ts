import { expect, it } from 'vitest';
import type { BoardView } from '../../ports/board-view.js';
import type { DeploymentView } from '../../ports/deployment-view.js';
import type { Exclusions } from '../../ports/exclusions.js';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { NodeFleet } from '../../ports/node-fleet.js';
import { Surroundings } from './surroundings.js';

it('an operation that goes on changes nothing, one that brings another plan does, and so do an agent that is away and the end of a maintenance', () => {
  const listeners = { deployments: () => {}, fleet: () => {}, exclusions: () => {} };
  const state = { plan: 'plan-1', coming: 'plan-1', connected: true, maintained: ['server-2'] };
  const deployments = {
    get plan() {
      return { id: state.plan };
    },
    get comingPlan() {
      return { id: state.coming };
    },
    onChange: (listener: () => void) => void Object.assign(listeners, { deployments: listener }),
  };
  const fleet = {
    isConnected: () => state.connected,
    onChange: (listener: () => void) => void Object.assign(listeners, { fleet: listener }),
  };
  const surroundings = new Surroundings(
    deployments as unknown as DeploymentView,
    fleet as unknown as NodeFleet,
    { broken: () => [], onChange: () => undefined } as unknown as BoardView,
    {
      current: { infrastructure: { servers: [{ id: 'server-1' }] }, revision: 1 },
      onChange: () => undefined,
    } as unknown as InfrastructureStore,
    {
      get servers() {
        return state.maintained;
      },
      ...{ boards: [], lost_servers: [] },
      onChange: (listener: () => void) => void Object.assign(listeners, { exclusions: listener }),
    } as Exclusions,
  );
  const told: string[] = [];
  surroundings.onChange(
    () => told.push('changed'),
    () => told.push('goes on'),
  );
  listeners.deployments();
  listeners.fleet();
  expect(told).toEqual(['goes on']);
  Object.assign(state, { coming: 'plan-2' });
  listeners.deployments();
  listeners.deployments();
  Object.assign(state, { plan: 'plan-2' });
  listeners.deployments();
  Object.assign(state, { connected: false });
  listeners.fleet();
  listeners.fleet();
  expect(told).toEqual(['goes on', 'changed', 'goes on', 'changed', 'changed']);
  Object.assign(state, { maintained: [] });
  listeners.exclusions();
  listeners.exclusions();
  expect(told.slice(5)).toEqual(['changed']);
});
