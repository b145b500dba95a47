import { describe, expect, it } from 'vitest';
import { deploymentOf, withDeployment } from './deployment.js';

describe('deploymentOf', () => {
  it('reads what the address asks for and leaves the rest as it runs', () => {
    expect(deploymentOf(new URLSearchParams('execution=parallel&schedule=wild&seed=3'))).toEqual({
      execution: 'parallel',
    });
    const after = withDeployment(new URLSearchParams('seed=3&execution=parallel'), { schedule: 'planned' });
    expect(after.toString()).toBe('seed=3&schedule=planned');
  });
});
