import { describe, expect, it } from 'vitest';
import { operationTitle, stepText } from './operation.js';

describe('stepText', () => {
  const step = { kind: 'extend-fabric', summary: '2 rules written, 1 rule removed' } as const;
  it.each([
    [undefined, 'Extend: 2 rules written, 1 rule removed'],
    ['done', 'Extend: 2 rules written, 1 rule removed'],
    ['pending', 'Extend: 2 rules to be written, 1 rule to be removed'],
    ['running', 'Extend: 2 rules being written, 1 rule being removed'],
    ['failed', 'Extend: 2 rules not written, 1 rule not removed'],
  ] as const)('says of a step that is %s what it has done', (state, text) =>
    expect(stepText({ ...step, ...(state && { state }) })).toBe(text),
  );

  it('leaves what a driver change says as it is', () => {
    const summary = 'leaf-1 changes from A to B: it carries nothing until its rules are written anew';
    expect(stepText({ kind: 'change-driver', summary, state: 'pending' })).toBe(`Change driver: ${summary}`);
  });
});

it('names the switch and the driver of a change', () => {
  const drivers = [{ switch: 'leaf-1', from: 'ovs', to: 'p4' } as const];
  const title = (kind: 'infrastructure' | 'deploy') =>
    operationTitle({ kind, subject: 'leaf-1', drivers }, () => 'Web');
  expect(title('infrastructure')).toBe('Change the driver of leaf-1 to P4, built in');
  expect(title('deploy')).toBe('Deploy Web');
});
