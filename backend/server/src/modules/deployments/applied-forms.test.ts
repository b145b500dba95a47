import type { NodeSpec, Observed } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { AppliedForms } from './applied-forms.js';

const KILLED: Partial<Observed> = { state: 'progressing' };

function specOf(generation: number, a: object = {}, b: object = {}): NodeSpec {
  const instances = [
    { id: 'a.nat.0', chain_id: 'a', config: a },
    { id: 'b.nat.0', chain_id: 'b', config: b },
  ];
  return { generation, instances, hops: [], exits: [{ exit_id: 'e', chain_id: 'c' }] } as unknown as NodeSpec;
}
const seen = (generation: number, differs: Partial<Observed> = {}): Observed =>
  ({ generation, state: 'converged', engine: 'running', engine_pid: 1, instances: [], ...differs }) as Observed;

/** Each desired state with what the server reports of it; which chains it has in the end. */
function after(...history: readonly (readonly [NodeSpec, Observed])[]): string[] {
  const forms = new AppliedForms();
  for (const [spec, observed] of history) forms.follow({ s: spec }, () => observed);
  const [spec, observed] = history.at(-1)!;
  return ['a', 'b', 'c'].filter((chain) => forms.has('s', chain, spec, observed));
}

describe('what a server has while it lacks an NF', () => {
  it('is all that it had before', () => {
    expect(after([specOf(1), seen(1)], [specOf(1), seen(1, KILLED)])).toEqual(['a', 'b', 'c']);
    expect(after([specOf(1), seen(1)], [specOf(1), seen(0, KILLED)])).toEqual(['a', 'b', 'c']);
  });

  it('is not what changed since', () => {
    const [first, second] = [specOf(1), specOf(2, { changed: true })];
    expect(after([first, seen(1)], [second, seen(1, KILLED)])).toEqual(['b', 'c']);
    expect(after([first, seen(1)], [second, seen(1, KILLED)], [specOf(3), seen(1, KILLED)])).toEqual(['b', 'c']);
    expect(after([first, seen(1)], [second, seen(1, KILLED)], [second, seen(2)])).toEqual(['a', 'b', 'c']);
  });

  it('is what its agent reports where this server knows nothing of before', () => {
    expect(after([specOf(1), seen(1, KILLED)])).toEqual(['a', 'b']);
    expect(after([specOf(1), seen(0, KILLED)])).toEqual([]);
  });

  it('is nothing that only passes its engine once that has started anew', () => {
    expect(after([specOf(1), seen(1)], [specOf(1), seen(1, { ...KILLED, engine_pid: 2 })])).toEqual(['a', 'b']);
  });
});
