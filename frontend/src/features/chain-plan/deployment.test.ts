import type { NodeStatus } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { DEPLOYMENT, deploymentOf, obstacleTo, withDeployment } from './deployment.js';

const [, parallel] = DEPLOYMENT.execution.choices;
const server = (abilities?: readonly string[], more: Partial<NodeStatus> = {}) =>
  ({ kind: 'server', state: 'connected', capabilities: { abilities }, ...more }) as NodeStatus;

describe('deploymentOf', () => {
  it('reads what the address asks for and leaves the rest as it runs', () => {
    expect(deploymentOf(new URLSearchParams('execution=parallel&schedule=wild&seed=3'))).toEqual({
      execution: 'parallel',
    });
    const after = withDeployment(new URLSearchParams('seed=3&execution=parallel'), { schedule: 'planned' });
    expect(after.toString()).toBe('seed=3&schedule=planned');
  });
});

describe('obstacleTo', () => {
  it('names what no engine declares', () => {
    expect(obstacleTo(parallel!, [server(['mirror']), server()])).toBe('No engine declares merge.');
    expect(obstacleTo(parallel!, [server([])])).toBe('No engine declares mirror or merge.');
  });

  it('is none where one engine can, or nothing is known', () => {
    expect(obstacleTo(parallel!, [server([]), server(['mirror', 'merge'])])).toBeNull();
    expect(obstacleTo(parallel!, undefined)).toBeNull();
    expect(obstacleTo(parallel!, [server([], { state: 'never-seen' }), server([], { kind: 'switch' })])).toBeNull();
    expect(obstacleTo(DEPLOYMENT.schedule.choices[0], [server([])])).toBeNull();
  });
});
