import type { NodeStatus } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { DEPLOYMENT, obstacleTo } from './deployment-choices.js';

const [, parallel] = DEPLOYMENT.execution.choices;
const server = (abilities?: readonly string[], more: Partial<NodeStatus> = {}) =>
  ({ kind: 'server', state: 'connected', capabilities: { abilities }, ...more }) as NodeStatus;

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
